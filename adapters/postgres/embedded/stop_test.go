package embedded_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// The backend of a connection that has just been closed may still run, so the server ends some in every orderly stop.
func TestAnOrderlyStopLogsNoWarning(t *testing.T) {
	s := started(t, t.TempDir())
	db := must.Get(sql.Open("postgres", s.DSN()))(t)
	defer db.Close()
	must.Do(t, db.PingContext(t.Context()))
	s.stop()
	if !s.log.Contains("terminating connection due to administrator command") {
		t.Fatalf("the server ended no connection, so nothing was tested:\n%s", s.log)
	}
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			t.Errorf("logged: %s", line)
		}
	}
	s.stop() // twice is no error
	if pid := postmasterPID(s.dir); pid != 0 {
		t.Errorf("postmaster.pid names %d", pid)
	}
	if _, err := s.query(`SELECT 'here'`); err == nil {
		t.Error("it still answers")
	}
}

func TestAServerThatDoesNotEndIsKilledWhenTheContextOfStopIsDone(t *testing.T) {
	s := started(t, t.TempDir())
	pid := s.signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if !await.Ended(pid) {
		t.Errorf("process %d still runs", pid)
	}
	started(t, s.dir).expect(`SELECT 'here'`, "here")
}
