package history_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/history/historytest"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestTheExpiredHistoryIsDeletedUntilNoneIsLeft(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	store := &historytest.Store{Expired: []int{1000, 1000, 7}}
	h := histories.NewExpiry(store, 35*24*time.Hour, func() time.Time { return now })
	spans, minutes, err := h.DeleteExpired(t.Context())
	if err != nil || spans != 2007 || minutes != 2007 || len(store.Expired) != 0 {
		t.Errorf("%d spans, %d minutes, %v, %v left", spans, minutes, err, store.Expired)
	}
	if want := now.AddDate(0, 0, -35); !store.Before.Equal(want) {
		t.Errorf("deleted is what ended before %v, want %v", store.Before, want)
	}
}

func TestAFailureEndsTheDeletionOfTheHistory(t *testing.T) {
	failure := errors.New("no database")
	h := histories.NewExpiry(&historytest.Store{DeleteErr: failure, Expired: []int{1000, 1000}}, time.Hour, time.Now)
	if spans, _, err := h.DeleteExpired(t.Context()); !errors.Is(err, failure) || spans != 1000 {
		t.Errorf("%d spans, %v", spans, err)
	}
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
				store := &historytest.Store{Reading: func() {
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
	store := &historytest.Store{Unmerged: 3}
	h := histories.NewExpiry(store, 35*24*time.Hour, func() time.Time { return now })
	if err := h.MergeSettled(t.Context()); err != nil || store.Unmerged != 0 {
		t.Errorf("%v, %d runs are left", err, store.Unmerged)
	}
	if want := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC); !store.Before.Equal(want) {
		t.Errorf("merged is what is before %v, want %v", store.Before, want)
	}
	if m := (monitor.Minute{At: store.Before, Since: store.Before}); history.Acceptable(m, now) == nil {
		t.Error("the gateway still accepts a minute that may have been merged")
	}
}
