package postgres_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestNothingCommittedIsLostWhenTheServerIsKilled(t *testing.T) {
	dir := shortDir(t)
	_, s := startServer(t, dir)
	m := register(t, s, 1)
	ctx, cancel := context.WithCancel(t.Context())
	wakes := s.Listen(ctx)
	defer func() {
		cancel()
		for range wakes {
		}
	}()
	requireWakeup(t, wakes, "it listens")

	// A worker reports without pause, an event each time, and repeats a report
	// until it is answered.
	var stored []string
	failures, killed := 0, false
	for second := 0; second < 60 && (failures == 0 || len(stored) < 30); second++ {
		r := report(blackout(second))
		for {
			began := time.Now()
			answer, err := s.Accept(t.Context(), m.ID, r)
			if took := time.Since(began); took > patience {
				t.Errorf("a report took %v", took)
			}
			if err == nil && answer.Order == monitor.Run {
				break
			}
			failures++
			if err == nil || !strings.Contains(err.Error(), string(m.ID)) {
				t.Fatalf("order %q, error %v", answer.Order, err)
			}
			if failures == 1 {
				t.Logf("the first error: %v", err)
			}
			if failures > 2000 {
				t.Fatalf("it does not come back: %v", err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		stored = append(stored, r.Events[0].ID)
		if !killed && second == 5 {
			killed = true
			killServer(t, dir)
			// Its children would serve on for a moment.
			eventually(t, "the database is gone", func() bool { return s.Ping(t.Context()) != nil })
		}
	}
	if failures == 0 {
		t.Error("nobody noticed the kill")
	}
	page, total, err := s.Events(t.Context(), m.ID, 200, 0)
	if err != nil || total != len(stored) {
		t.Fatalf("%d events are on disk, %d were answered for, %v", total, len(stored), err)
	}
	for i, rec := range page {
		if want := stored[len(stored)-1-i]; rec.EventID != want {
			t.Errorf("event %d is %s, want %s", i, rec.EventID, want)
		}
	}
	select { // the wake-ups so far
	case <-wakes:
	default:
	}
	acceptReport(t, s, m.ID, report(blackout(100)), monitor.Run)
	requireWakeup(t, wakes, "the restart")
}

// killServer kills the embedded server whose data directory is dir.
func killServer(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
