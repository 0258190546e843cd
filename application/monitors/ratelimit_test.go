package monitors_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
)

var client = monitors.Client{1}

// Section 12.3, decision A5. The requests that count, and the refusals, are tested in adapters/httpapi.
func TestARateLimitOfZeroAsksNoStore(t *testing.T) {
	for _, limit := range []monitors.RateLimit{monitors.Creating, monitors.Querying, monitors.Viewing, monitors.Previewing, monitors.Refusing} {
		s := newServiceWith(t)
		s.store.Fail = func(context.Context, string) error { return errors.New("the store was called") }
		if wait, err := s.Allow(t.Context(), client, limit); wait != 0 || err != nil {
			t.Errorf("%s: a request must wait %v: %v", limit, wait, err)
		}
	}
}

func TestARateLimitThatCannotBeReadIsNoRefusal(t *testing.T) {
	s := newServiceWith(t, func(c *monitors.Config) { c.CreatePerMin = 2 })
	broken := errors.New("disk full")
	s.store.Fail = func(context.Context, string) error { return broken }
	if wait, err := s.Allow(t.Context(), client, monitors.Creating); wait != 0 || !errors.Is(err, broken) {
		t.Errorf("a request must wait %v: %v", wait, err)
	}
}

func TestRetryAfterIsRoundedUpToSeconds(t *testing.T) {
	for wait, want := range map[time.Duration]int{
		1:                       1,
		time.Second:             1,
		time.Second + 1:         2,
		6 * time.Second:         6,
		5999 * time.Millisecond: 6,
		time.Minute:             60,
	} {
		if got := monitors.RetryAfterSeconds(wait); got != want {
			t.Errorf("a wait of %v is %d s, want %d", wait, got, want)
		}
	}
}
