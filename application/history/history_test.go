package history_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// expiringStore is a histories.ExpiryStore of old rows.
type expiringStore struct {
	unmerged int   // how often MergeMinutes finds some
	expired  []int // spans, and as many minutes, that each DeleteHistory deletes
	failure  error // of DeleteHistory, after it has deleted
	before   time.Time
}

func (s *expiringStore) MergeMinutes(_ context.Context, before time.Time) (more bool, err error) {
	s.before = before
	s.unmerged--
	return s.unmerged > 0, nil
}

func (s *expiringStore) DeleteHistory(_ context.Context, before time.Time, _ int) (spans, minutes int, err error) {
	s.before = before
	n := s.expired[0]
	s.expired = s.expired[1:]
	return n, n, s.failure
}

func TestTheExpiredHistoryIsDeletedUntilNoneIsLeft(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	store := &expiringStore{expired: []int{1000, 1000, 7}}
	h := histories.NewExpiry(store, 35*24*time.Hour, func() time.Time { return now })
	spans, minutes, err := h.DeleteExpired(t.Context())
	if err != nil || spans != 2007 || minutes != 2007 || len(store.expired) != 0 {
		t.Errorf("%d spans, %d minutes, %v, %v left", spans, minutes, err, store.expired)
	}
	if want := now.AddDate(0, 0, -35); !store.before.Equal(want) {
		t.Errorf("deleted is what ended before %v, want %v", store.before, want)
	}
}

func TestAFailureEndsTheDeletionOfTheHistory(t *testing.T) {
	failure := errors.New("no database")
	h := histories.NewExpiry(&expiringStore{failure: failure, expired: []int{1000, 1000}}, time.Hour, time.Now)
	if spans, _, err := h.DeleteExpired(t.Context()); !errors.Is(err, failure) || spans != 1000 {
		t.Errorf("%d spans, %v", spans, err)
	}
}

// slowStore is a histories.Store whose methods wait.
type slowStore struct {
	histories.Store

	reading func()
}

func (s slowStore) MonitorHistory(_ context.Context, _ monitor.ID, _, _ time.Time, _ time.Duration, v histories.Visitor) error {
	s.reading()
	v.Begin(histories.MonitorLife{})
	return nil
}

func (s slowStore) SumHistory(context.Context, histories.Selection, time.Time, *history.Summary) error {
	s.reading()
	return nil
}

// Reports need connections to the database, too.
func TestQuestionsAboutTheHistoryAreAnsweredAFewAtATime(t *testing.T) {
	for name, c := range map[string]struct {
		limit int
		ask   func(context.Context, *histories.Service) error
	}{
		"timelines": {4, func(ctx context.Context, h *histories.Service) error {
			_, err := h.Timeline(ctx, "mon-1", time.Time{}, time.Time{}, 0)
			return err
		}},
		"statistics": {2, func(ctx context.Context, h *histories.Service) error {
			_, err := h.Statistics(ctx, histories.StatisticsQuery{By: history.Day, Zone: time.UTC})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				finish := make(chan struct{})
				var reading atomic.Int32
				store := slowStore{reading: func() {
					reading.Add(1)
					<-finish
				}}
				h := histories.NewService(store, nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				answers := make(chan error, 10)
				for range cap(answers) {
					go func() { answers <- c.ask(ctx, h) }()
				}
				synctest.Wait()
				if n := int(reading.Load()); n != c.limit {
					t.Errorf("%d are read at once, want %d", n, c.limit)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				for range cap(answers) - c.limit {
					if err := <-answers; !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("a question that waited a second: %v", err)
					}
				}
				close(finish)
				for range c.limit {
					if err := <-answers; err != nil {
						t.Error(err)
					}
				}
				if err := c.ask(t.Context(), h); err != nil {
					t.Errorf("the next question: %v", err)
				}
			})
		})
	}
}

func TestMinutesAreMergedOnceTheyDoNotChange(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 7, 0, 0, time.UTC)
	store := &expiringStore{unmerged: 3}
	h := histories.NewExpiry(store, 35*24*time.Hour, func() time.Time { return now })
	if err := h.MergeSettled(t.Context()); err != nil || store.unmerged != 0 {
		t.Errorf("%v, %d runs are left", err, store.unmerged)
	}
	if want := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC); !store.before.Equal(want) {
		t.Errorf("merged is what is before %v, want %v", store.before, want)
	}
	if m := (monitor.Minute{At: store.before, Since: store.before}); history.Acceptable(m, now) == nil {
		t.Error("the gateway still accepts a minute that may have been merged")
	}
}

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
