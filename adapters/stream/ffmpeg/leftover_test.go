package ffmpeg_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// noChildren fails the test when a process that it started is still there.
func noChildren(t *testing.T) {
	t.Helper()
	switch _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
	case errors.Is(err, syscall.ECHILD):
	case err == nil:
		t.Error("a child process was left behind")
	default:
		t.Fatal(err)
	}
}

// groupIsGone fails the test when a process of the group whose leader made a
// link to its id is still there. It may not write to a file.
func groupIsGone(t *testing.T, link string) {
	t.Helper()
	leader, err := os.Readlink(link)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process group is gone", func() bool {
		all, err := exec.Command("ps", "-A", "-o", "pgid=,stat=").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(all)) {
			// A zombie is gone: init has yet to notice.
			if f := strings.Fields(line); len(f) == 2 && f[0] == leader && f[1][0] != 'Z' {
				return false
			}
		}
		return true
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// peak follows what the only child of this process has resident at most, in
// bytes, and tells it in the end. What the kernel tells of a child that has
// ended is of no use: there it counts from what its parent had.
func peak(t *testing.T) func() int64 {
	t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	var most int64
	go func() {
		defer close(stopped)
		for often := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-often.C:
				most = max(most, residentChild())
			case <-stop:
				often.Stop()
				return
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-stopped
		return most
	}
}

func residentChild() (kilobytes int64) {
	threads, _ := filepath.Glob("/proc/self/task/*/children")
	for _, thread := range threads {
		children, _ := os.ReadFile(thread) // it may have ended
		for child := range strings.FieldsSeq(string(children)) {
			status, _ := os.ReadFile("/proc/" + child + "/status")
			_, after, found := strings.Cut(string(status), "VmHWM:")
			// Before it has become another program it has this one's memory.
			if binary, err := os.Readlink("/proc/" + child + "/exe"); !found || err != nil || binary == os.Args[0] {
				continue
			}
			kilobytes, _ = strconv.ParseInt(strings.Fields(after)[0], 10, 64)
		}
	}
	return kilobytes << 10
}
