package ffmpeg_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// checkNoSubprocess fails the test if a subprocess is left.
func checkNoSubprocess(t *testing.T) {
	t.Helper()
	switch _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
	case errors.Is(err, syscall.ECHILD):
	case err == nil:
		t.Error("a subprocess is still there")
	default:
		t.Fatal(err)
	}
}

// checkProcessGroupEnded waits for the end of a process group. Its leader has made link,
// a symbolic link to its id, because it may not write files.
func checkProcessGroupEnded(t *testing.T, link string) {
	t.Helper()
	leader, err := os.Readlink(link)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process group has ended", func() bool {
		all, err := exec.Command("ps", "-A", "-o", "pgid=,stat=").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(all)) {
			// A zombie has ended; init has not waited for it yet.
			if f := strings.Fields(line); len(f) == 2 && f[0] == leader && f[1][0] != 'Z' {
				return false
			}
		}
		return true
	})
}

func eventually(t *testing.T, condition string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", condition)
		}
	}
}
