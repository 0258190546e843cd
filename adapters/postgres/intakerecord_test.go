package postgres_test

import (
	"bytes"
	"context"
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
			s, err := postgres.Open(t.Context(), dsn, postgres.Config{MaxConnections: 2, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
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

// A gateway is cut off when it has sent its changes of the feed. The server ends its transaction later.
func TestAHaltedGatewayDelaysNoAlertOfTheOthers(t *testing.T) {
	dsn := database(t)
	proxied := startProxy(t, dsn)
	halted, other := open(t, proxied.dsn+longIdle), open(t, dsn)
	first, second := register(t, other, 1), register(t, other, 2)
	proxied.lose(func(statement string) loss {
		if strings.Contains(statement, "INSERT INTO feed_inbox") {
			return silentLoss
		}
		return noLoss
	})
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() { _, _ = halted.Accept(ctx, first.ID, report(blackout(1))) })
	defer waiting.Wait()
	defer cancel()
	eventually(t, "the gateway is halted", func() bool { return proxied.losses() == 1 })
	requireWithin(t, promptly, "the alert of another gateway", func() {
		acceptReport(t, other, second.ID, report(blackout(1)), monitor.Run)
	})
	if l := leaseOne(t, other); l.Event.MonitorID != second.ID {
		t.Errorf("leased is an event of %s", l.Event.MonitorID)
	}
}
