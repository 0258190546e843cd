package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
)

func TestAWaitEndsWithItsTimeItsSignalOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		wake := make(chan struct{}, 1)
		began := time.Now()
		if !wait.For(ctx, time.Minute) || time.Since(began) != time.Minute {
			t.Errorf("a minute took %v", time.Since(began))
		}
		wake <- struct{}{}
		if !wait.ForOrUntil(ctx, time.Minute, wake) || time.Since(began) != time.Minute {
			t.Errorf("a signal ended it after %v", time.Since(began))
		}
		time.AfterFunc(time.Second, cancel)
		if wait.ForOrUntil(ctx, time.Minute, wake) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("the context ended it after %v", time.Since(began))
		}
		if wait.For(ctx, 0) {
			t.Error("a wait of nothing hides that the context is done")
		}
	})
}

var errBusy = errors.New("busy")

func TestAFreeSlotIsTakenAlthoughTheWaitIsOver(t *testing.T) {
	late, cancel := context.WithCancelCause(t.Context())
	cancel(errBusy)
	s := make(wait.Slots, 1)
	for range 100 {
		release, err := s.Take(late)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Take(late); !errors.Is(err, errBusy) {
			t.Fatalf("a second one: %v", err)
		}
		release()
	}
}
