package subprocess_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

// The shell that started the service may have left open files, whose descriptors every child inherits.
func TestAToolInheritsNoDescriptor(t *testing.T) {
	for _, number := range []int{3, 4, 77} {
		if _, err := unix.FcntlInt(uintptr(number), unix.F_GETFD, 0); err == nil {
			continue // this process uses it
		}
		null, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if null != number {
			err = unix.Dup3(null, number, 0)
			_ = unix.Close(null)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Close(number) }()
	}
	for _, confinement := range []*subprocess.Confinement{nil, {Network: true}} { // the second one has rules of Landlock, to which it could add some
		c := sh(`for f in 3 4 5 6 7 8 77; do [ -e /proc/$$/fd/$f ] && echo $f; done; true`)
		c.Confinement = confinement
		if res := mustRun(t, c); len(res.Stdout) > 0 {
			t.Errorf("confined by %v it has the descriptors %q", confinement, res.Stdout)
		}
	}
}

// An old kernel, or the filter of a container, does not know the call that closes all of them.
func TestAToolInheritsNoDescriptorInAnOldSandbox(t *testing.T) {
	test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAToolInheritsNoDescriptor$", "-test.v")
	if said, err := outputInSandbox(test, refusal{call: unix.SYS_CLOSE_RANGE, errno: unix.ENOSYS}); err != nil || !strings.Contains(string(said), "--- PASS") {
		t.Errorf("%v\n%s", err, said)
	}
}
