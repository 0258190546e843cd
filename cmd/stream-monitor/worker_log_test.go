package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const someMonitor = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"

// flood writes numbered lines of a size, and returns how long that took.
func flood(t *testing.T, log io.Writer, from, to, size int) time.Duration {
	t.Helper()
	began := time.Now()
	for n := from; n < to; n++ {
		line := fmt.Sprintf(`{"n":%d,"pad":"%s"}`+"\n", n, strings.Repeat("x", size))
		if wrote, err := io.WriteString(log, line); wrote != len(line) || err != nil {
			t.Fatalf("wrote %d of %d bytes: %v", wrote, len(line), err)
		}
	}
	return time.Since(began)
}

// tally reads a log to its end: which numbers came, in order, how many lines
// are said to be missing, and how many were begun only.
func tally(t *testing.T, from io.Reader) (numbers []int, missing, torn int) {
	t.Helper()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			N         *int
			MonitorID string `json:"monitor_id"`
			Component string
			Level     string
			Data      struct{ Lines int }
		}
		switch err := json.Unmarshal(lines.Bytes(), &line); {
		case err != nil:
			torn++
		case line.N != nil:
			numbers = append(numbers, *line.N)
		case line.Level != "WARN" || line.Component != "worker" || line.MonitorID != someMonitor:
			t.Errorf("unexpected: %s", lines.Bytes())
		default:
			missing += line.Data.Lines
		}
	}
	return numbers, missing, torn
}

func logPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

func TestALogThatNobodyReadsStopsNoWorker(t *testing.T) {
	for name, size := range map[string]int{"short lines": 80, "lines that a pipe takes in pieces": 20_000} {
		t.Run(name, func(t *testing.T) {
			const stuck, more = 5000, 10
			r, w := logPipe(t)
			log := lossy(w, someMonitor)
			if took := flood(t, log, 0, stuck, size); took > 20*logPatience {
				t.Errorf("it was kept for %v", took)
			}
			var numbers []int
			var missing, torn int
			var reading sync.WaitGroup
			reading.Go(func() { numbers, missing, torn = tally(t, r) })
			// The reader is back as soon as something gets through.
			for end := time.Now().Add(10 * time.Second); ; {
				flood(t, log, stuck, stuck+1, 1)
				if log.(*lossyLog).dropped == 0 {
					break
				}
				if time.Now().After(end) {
					t.Fatal("nothing gets through to a reader that is there")
				}
			}
			flood(t, log, stuck+1, stuck+more, size)
			_ = w.Close()
			reading.Wait()

			whole := 0
			for i, n := range numbers {
				if n < stuck {
					whole++
				}
				if i > 0 && n < numbers[i-1] {
					t.Errorf("line %d comes after %d", n, numbers[i-1])
				}
			}
			if last := numbers[len(numbers)-more:]; last[0] != stuck || last[more-1] != stuck+more-1 {
				t.Errorf("the last lines are %v", last)
			}
			// While it waited for the reader, line 5000 may have been dropped, too.
			if missing < stuck-whole {
				t.Errorf("%d of %d lines came and %d are said to be missing", whole, stuck, missing)
			}
			if torn > 1 {
				t.Errorf("%d lines are torn", torn)
			}
		})
	}
}

func TestALogThatIsReadLosesNothing(t *testing.T) {
	const many = 3000
	r, w := logPipe(t)
	var numbers []int
	var missing, torn int
	var reading sync.WaitGroup
	reading.Go(func() { numbers, missing, torn = tally(t, r) })
	flood(t, lossy(w, someMonitor), 0, many, 1000)
	_ = w.Close()
	reading.Wait()
	if len(numbers) != many || missing > 0 || torn > 0 {
		t.Errorf("%d of %d came, %d are said to be missing, %d are torn", len(numbers), many, missing, torn)
	}
}

func TestALogWhoseReaderIsGone(t *testing.T) {
	r, w := logPipe(t)
	_ = r.Close()
	if took := flood(t, lossy(w, someMonitor), 0, 1000, 10); took > 20*logPatience {
		t.Errorf("it was kept for %v", took)
	}
}

func TestOnlyPipesAreLossy(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, w := range []io.Writer{file, &bytes.Buffer{}, &lineWriter{w: file}} {
		if got := lossy(w, someMonitor); got != w {
			t.Errorf("%T became %T", w, got)
		}
	}
}

// What the runtime has to say waits for nobody, either.
func TestAPanicThatNobodyReads(t *testing.T) {
	if os.Getenv("WORKER_LOG_PANIC") != "" {
		flood(t, lossy(os.Stderr, someMonitor), 0, 1000, 1000)
		panic("unheard")
	}
	r, w := logPipe(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAPanicThatNobodyReads$")
	cmd.Env = append(os.Environ(), "WORKER_LOG_PANIC=1")
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 {
			t.Errorf("it ended with %v, want status 2", err)
		}
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Error("it has not ended")
		<-ended
	}
	_ = r.Close()
}
