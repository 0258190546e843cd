package ffmpeg_test

import (
	"errors"
	"io"
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
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", condition)
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
		s := memorySampler{buffer: make([]byte, 4096)}
		defer s.end()
		for often := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-often.C:
				highest = max(highest, s.peak())
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

// memorySampler keeps the status of the subprocess open: to find it takes longer than
// to read it.
type memorySampler struct {
	status *os.File // nil: there is no subprocess
	buffer []byte
}

func (s *memorySampler) end() {
	if s.status != nil {
		_ = s.status.Close()
	}
	s.status = nil
}

// peak returns the highest resident memory of the subprocess so far in bytes, or 0.
func (s *memorySampler) peak() int64 {
	if s.status == nil {
		s.find()
	}
	if s.status == nil {
		return 0
	}
	n, err := s.status.ReadAt(s.buffer, 0)
	if err != nil && !errors.Is(err, io.EOF) { // it has ended
		s.end()
		return 0
	}
	_, after, found := strings.Cut(string(s.buffer[:n]), "VmHWM:")
	if !found {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	return kilobytes << 10
}

func (s *memorySampler) find() {
	threads, _ := filepath.Glob("/proc/self/task/*/children")
	for _, thread := range threads {
		children, _ := os.ReadFile(thread) // it may have ended
		for pid := range strings.FieldsSeq(string(children)) {
			// Before exec the subprocess shares the memory of this process, so its program is read first.
			if program, err := os.Readlink("/proc/" + pid + "/exe"); err != nil || program == os.Args[0] {
				continue
			}
			s.status, _ = os.Open("/proc/" + pid + "/status")
		}
	}
}
