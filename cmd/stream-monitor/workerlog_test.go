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

// patience is the timeout of a log that has a reader, who may wait for a CPU.
const patience = time.Minute

// writeLines writes numbered lines of a size and returns the time that it took.
func writeLines(t *testing.T, log io.Writer, from, to, size int) time.Duration {
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

// readLines reads a log to its end. It returns the numbers in order, how many lines
// were reported as dropped, and how many were written in part.
func readLines(t *testing.T, from io.Reader) (numbers []int, dropped, partial int) {
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
			partial++
		case line.N != nil:
			numbers = append(numbers, *line.N)
		case line.Level != "WARN" || line.Component != "worker" || line.MonitorID != someMonitor:
			t.Errorf("unexpected: %s", lines.Bytes())
		default:
			dropped += line.Data.Lines
		}
	}
	return numbers, dropped, partial
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

func TestALogWithoutAReaderDoesNotStopTheWorker(t *testing.T) {
	for name, size := range map[string]int{"short lines": 80, "lines that a pipe takes in pieces": 20_000} {
		t.Run(name, func(t *testing.T) {
			const stuck, more = 5000, 10
			r, w := logPipe(t)
			log := newWorkerLog(w, someMonitor).(*lossyLog)
			if took := writeLines(t, log, 0, stuck, size); took > stuck/10*logTimeout { // a wait for each line takes ten times that
				t.Errorf("it was kept for %v", took)
			}
			var numbers []int
			var dropped, partial int
			var reading sync.WaitGroup
			reading.Go(func() { numbers, dropped, partial = readLines(t, r) })
			log.timeout = patience
			// The reader is back as soon as something gets through.
			for end := time.Now().Add(patience); ; {
				writeLines(t, log, stuck, stuck+1, 1)
				if log.dropped == 0 {
					break
				}
				if time.Now().After(end) {
					t.Fatal("nothing gets through to a reader that is there")
				}
			}
			writeLines(t, log, stuck+1, stuck+more, size)
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
			if dropped < stuck-whole {
				t.Errorf("%d of %d lines came and %d are said to be dropped", whole, stuck, dropped)
			}
			if partial > 1 {
				t.Errorf("%d lines are partial", partial)
			}
		})
	}
}

func TestALogWithAReaderLosesNoLine(t *testing.T) {
	const many = 3000
	r, w := logPipe(t)
	var numbers []int
	var dropped, partial int
	var reading sync.WaitGroup
	reading.Go(func() { numbers, dropped, partial = readLines(t, r) })
	log := newWorkerLog(w, someMonitor).(*lossyLog)
	log.timeout = patience
	writeLines(t, log, 0, many, 1000)
	_ = w.Close()
	reading.Wait()
	if len(numbers) != many || dropped > 0 || partial > 0 {
		t.Errorf("%d of %d came, %d are said to be dropped, %d are partial", len(numbers), many, dropped, partial)
	}
}

func TestAClosedPipeDoesNotStopTheWorker(t *testing.T) {
	r, w := logPipe(t)
	_ = r.Close()
	if took := writeLines(t, newWorkerLog(w, someMonitor), 0, 1000, 10); took > 100*logTimeout {
		t.Errorf("it was kept for %v", took)
	}
}

func TestOnlyPipesDropLines(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, w := range []io.Writer{file, &bytes.Buffer{}, &lockedWriter{w: file}} {
		if got := newWorkerLog(w, someMonitor); got != w {
			t.Errorf("%T became %T", w, got)
		}
	}
}

func TestAPanicThatNobodyReadsEndsTheProcess(t *testing.T) {
	if os.Getenv("WORKER_LOG_PANIC") != "" {
		writeLines(t, newWorkerLog(os.Stderr, someMonitor), 0, 1000, 1000)
		panic("unheard")
	}
	r, w := logPipe(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAPanicThatNobodyReadsEndsTheProcess$")
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
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		t.Error("it has not ended")
		<-ended
	}
	_ = r.Close()
}
