package monitors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var client = monitors.Client{1}

// TestARateLimitRefusesFurtherRequests tests section 12.3 and decision A5.
func TestARateLimitRefusesFurtherRequests(t *testing.T) {
	ctx := context.Background()
	small := func(c *monitors.Config) { c.CreatePerMin, c.QueryPerMin = 2, 3 }

	for limit, c := range map[monitors.RateLimit]struct {
		perMin int
		says   string
	}{
		monitors.Creating: {2, "2 requests a minute are allowed to register and to test webhooks; the next is in 30 s"},
		monitors.Querying: {3, "3 requests a minute are allowed to read and redeliver; the next is in 20 s"},
	} {
		t.Run(string(limit)+" is limited to the configured number", func(t *testing.T) {
			s := newServiceWith(t, small)
			for range c.perMin {
				if wait, err := s.Allow(ctx, client, limit); wait != 0 || err != nil {
					t.Fatalf("a request must wait %v: %v", wait, err)
				}
			}
			wait, err := s.Allow(ctx, client, limit)
			requireCode(t, err, monitor.RateLimitExceeded)
			if wait != time.Minute/time.Duration(c.perMin) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("a request must wait %v: %v", wait, err)
			}
		})
		t.Run(string(limit)+" without a limit does not read the store", func(t *testing.T) {
			s := newServiceWith(t)
			s.store.Fail = func(context.Context, string) error { return errors.New("the store was called") }
			for range 1000 {
				if wait, err := s.Allow(ctx, client, limit); wait != 0 || err != nil {
					t.Fatalf("a request must wait %v: %v", wait, err)
				}
			}
		})
	}

	t.Run("an error of the store is no refusal", func(t *testing.T) {
		s := newServiceWith(t, small)
		broken := errors.New("disk full")
		s.store.Fail = func(context.Context, string) error { return broken }
		if wait, err := s.Allow(ctx, client, monitors.Creating); wait != 0 || !errors.Is(err, broken) {
			t.Errorf("a request must wait %v: %v", wait, err)
		}
	})
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
