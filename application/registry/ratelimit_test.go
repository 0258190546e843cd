package registry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var someone = registry.Client{1}

// TestBudgets is section 12.3 and decision A5.
func TestBudgets(t *testing.T) {
	ctx := context.Background()
	small := func(c *registry.Config) { c.CreatePerMin, c.QueryPerMin = 2, 3 }

	for budget, c := range map[registry.RateLimit]struct {
		perMin int
		says   string
	}{
		registry.Creating: {2, "2 requests a minute are allowed to register and to test webhooks; the next is in 30 s"},
		registry.Querying: {3, "3 requests a minute are allowed to read and redeliver; the next is in 20 s"},
	} {
		t.Run("the one to "+string(budget)+" is as large as it is set", func(t *testing.T) {
			d := openWith(t, small)
			for range c.perMin {
				if wait, err := d.Allow(ctx, someone, budget); wait != 0 || err != nil {
					t.Fatalf("a request must wait %v: %v", wait, err)
				}
			}
			wait, err := d.Allow(ctx, someone, budget)
			mustBe(t, err, monitor.RateLimitExceeded)
			if wait != time.Minute/time.Duration(c.perMin) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("a request must wait %v: %v", wait, err)
			}
		})
		t.Run("the one to "+string(budget)+" costs no look at the store when it has no limit", func(t *testing.T) {
			d := openWith(t)
			d.store.Fail = func(context.Context, string) error { return errors.New("the store was asked") }
			for range 1000 {
				if wait, err := d.Allow(ctx, someone, budget); wait != 0 || err != nil {
					t.Fatalf("a request must wait %v: %v", wait, err)
				}
			}
		})
	}

	t.Run("a store that fails is no refusal", func(t *testing.T) {
		d := openWith(t, small)
		broken := errors.New("disk full")
		d.store.Fail = func(context.Context, string) error { return broken }
		if wait, err := d.Allow(ctx, someone, registry.Creating); wait != 0 || !errors.Is(err, broken) {
			t.Errorf("a request must wait %v: %v", wait, err)
		}
	})
}

func TestSeconds(t *testing.T) {
	for wait, want := range map[time.Duration]int{
		1:                       1,
		time.Second:             1,
		time.Second + 1:         2,
		6 * time.Second:         6,
		5999 * time.Millisecond: 6,
		time.Minute:             60,
	} {
		if got := registry.RetryAfterSeconds(wait); got != want {
			t.Errorf("a wait of %v is %d s, want %d", wait, got, want)
		}
	}
}
