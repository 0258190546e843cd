package history_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// expiryStore has ended monitors with events; each batch takes 100 ms.
type expiryStore struct {
	monitors      []histories.EndedMonitor
	events        map[monitor.ID]int
	deleted       []monitor.ID
	age           time.Duration
	err           error // of DeleteEvents
	notifications int
}

func (s *expiryStore) ExpiringMonitors(_ context.Context, age time.Duration, after histories.EndedMonitor, limit int) (page []histories.EndedMonitor, err error) {
	s.age = age
	for _, m := range s.monitors {
		if m.EndedAt.After(after.EndedAt) && len(page) < limit {
			page = append(page, m)
		}
	}
	return page, nil
}

func (s *expiryStore) DeleteEvents(ctx context.Context, id monitor.ID, _ time.Duration, limit int) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(100 * time.Millisecond):
	}
	n := min(s.events[id], limit)
	s.events[id] -= n
	return n, s.err
}

func (s *expiryStore) DeleteIncidents(context.Context, monitor.ID, time.Duration, int) (incidents, lines int, err error) {
	return 0, 0, nil
}

func (s *expiryStore) DeleteNotifications(_ context.Context, _ time.Duration, limit int) (int, error) {
	n := min(s.notifications, limit)
	s.notifications -= n
	return n, nil
}

func (s *expiryStore) DeleteMonitor(_ context.Context, id monitor.ID) error {
	s.deleted = append(s.deleted, id)
	return nil
}

func newExpiryStore(monitors, events int) *expiryStore {
	s := &expiryStore{events: map[monitor.ID]int{}}
	for n := range monitors {
		id := monitor.ID(fmt.Sprintf("mon-%d", n))
		s.monitors = append(s.monitors, histories.EndedMonitor{ID: id, EndedAt: time.Unix(int64(n+1), 0)})
		s.events[id] = events
	}
	return s
}

// runExpiry runs an Expiry once.
func runExpiry(t *testing.T, s *expiryStore) error {
	t.Helper()
	return histories.NewMonitorExpiry(s, 90*24*time.Hour, slog.New(slog.DiscardHandler)).Run(t.Context())
}

func TestEventsOfEveryPageOfMonitorsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newExpiryStore(250, 3)
		s.notifications = 1200
		if err := runExpiry(t, s); err != nil || len(s.deleted) != 250 || s.notifications != 0 || s.age != 90*24*time.Hour {
			t.Errorf("%d monitors are deleted, %d notifications are left, the age is %s, %v", len(s.deleted), s.notifications, s.age, err)
		}
	})
}

func TestALongExpiryEndsAfterHalfAMinuteAndGoesOnLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newExpiryStore(1, 500*400)
		began := time.Now()
		if err := runExpiry(t, s); err != nil || time.Since(began) != 30*time.Second || len(s.deleted) != 0 {
			t.Errorf("it took %s, %v", time.Since(began), err)
		}
		if err := runExpiry(t, s); err != nil || s.events["mon-0"] != 0 || len(s.deleted) != 1 {
			t.Errorf("%d events are left, %v", s.events["mon-0"], err)
		}
	})
}

func TestAFailureEndsAnExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newExpiryStore(2, 500)
		s.err = errors.New("no database")
		if err := runExpiry(t, s); !errors.Is(err, s.err) || s.events["mon-1"] != 500 {
			t.Errorf("%d events of the next monitor are left, %v", s.events["mon-1"], err)
		}
	})
}
