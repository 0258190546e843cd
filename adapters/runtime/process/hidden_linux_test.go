package process_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// hiddenVariable makes the workers of these tests unreadable for processes of their user, as
// the real ones are.
const hiddenVariable = "PROCESS_TEST_HIDDEN"

var _ = hide()

func hide() (err error) {
	if os.Getenv(hiddenVariable) != "" {
		err = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
	return err
}

// Runs the tests of adoption again with hidden workers, and without capabilities: root could
// read them all the same.
func TestWorkersWhoseEnvironmentCannotBeReadAreAdopted(t *testing.T) {
	if os.Getenv(hiddenVariable) != "" {
		return // this is the second run
	}
	said, err := outputWithoutCapabilities(t, exec.Command(os.Args[0],
		"-test.run=^(TestAWorkerIsAdoptedWhereverInALaunchItsGatewayDied|TestAWorkerThatReportsElsewhereIsEnded)$", "-test.v"))
	if err != nil {
		t.Errorf("%v:\n%s", err, said)
	}
}

func outputWithoutCapabilities(t *testing.T, cmd *exec.Cmd) (said []byte, err error) {
	t.Helper()
	cmd.Env = append(os.Environ(), hiddenVariable+"=1")
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		for capability := uintptr(0); os.Geteuid() == 0 && capability <= unix.CAP_LAST_CAP; capability++ {
			if err = unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
				return
			}
		}
		said, err = cmd.CombinedOutput()
	}()
	<-done
	return said, err
}
