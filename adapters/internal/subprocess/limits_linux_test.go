package subprocess_test

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// As in a container whose seccomp profile does not know prlimit.
func TestAToolWhoseLimitsFailDoesNotRun(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), asHelpless+"=yes")
	said, err := outputInSandbox(parent, refusal{call: unix.SYS_PRLIMIT64, errno: unix.EPERM})
	if want := "start /bin/sh: limit of file size: operation not permitted"; err != nil || string(said) != want {
		t.Errorf("said %q, %v, want %q", said, err, want)
	}
}
