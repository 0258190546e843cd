package postgres_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lockedBuffer is a log that may be written concurrently.
type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

// An alert is stored and delivered although a part of the record is damaged, and the log says what is missing.
func TestAFailureOfTheRecordRefusesNoAlert(t *testing.T) {
	for _, table := range []string{"incidents", "history_lanes"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			dsn := create(t, template) // not for reuse
			var log lockedBuffer
			s := must(postgres.Open(t.Context(), dsn, postgres.Config{MaxConnections: 2, Log: slog.New(slog.NewTextHandler(&log, nil))}))(t)
			defer s.Close()
			m := register(t, s, 1)
			alter(t, raw(t, dsn), damaged(table))
			alert := trouble(detector.Blackout, hourAgo())
			acceptReport(t, s, m.ID, report(alert), monitor.Run)
			if got := getMonitor(t, s, m.ID); got.Status != monitor.Monitoring {
				t.Errorf("the report is not stored: %s", got.Status)
			}
			l := leaseOne(t, s)
			if l.ID != alert.ID {
				t.Errorf("the delivery is %+v", l)
			}
			recordAttempt(t, s, l, accepting, sent)
			if left := lease(t, s); len(left) != 0 {
				t.Errorf("the delivery is not recorded: %+v", left)
			}
			if text := log.String(); !strings.Contains(text, "history and incidents of a monitor cannot be stored") || !strings.Contains(text, "damaged") {
				t.Errorf("the log says %s", text)
			}
		})
	}
}
