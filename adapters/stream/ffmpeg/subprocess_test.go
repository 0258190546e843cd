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
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", condition)
		}
	}
}

// samplePeakMemory samples the resident memory of the only subprocess until the
// returned function is called, which returns the peak in bytes. The kernel's own peak
// of an ended subprocess is of no use: it includes the memory of the parent before exec.
func samplePeakMemory(t *testing.T) func() int64 {
	t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	var highest int64
	go func() {
		defer close(stopped)
		for often := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-often.C:
				highest = max(highest, subprocessPeakMemory())
			case <-stop:
				often.Stop()
				return
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-stopped
		return highest
	}
}

func subprocessPeakMemory() (kilobytes int64) {
	threads, _ := filepath.Glob("/proc/self/task/*/children")
	for _, thread := range threads {
		children, _ := os.ReadFile(thread) // it may have ended
		for pid := range strings.FieldsSeq(string(children)) {
			// Before exec the subprocess shares the memory of this process, so its program is read first.
			if program, err := os.Readlink("/proc/" + pid + "/exe"); err != nil || program == os.Args[0] {
				continue
			}
			status, _ := os.ReadFile("/proc/" + pid + "/status")
			_, after, found := strings.Cut(string(status), "VmHWM:")
			if !found {
				continue
			}
			kilobytes, _ = strconv.ParseInt(strings.Fields(after)[0], 10, 64)
		}
	}
	return kilobytes << 10
}
