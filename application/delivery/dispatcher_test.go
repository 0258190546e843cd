package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestDispatcher(t *testing.T) {
	scenario(t, "a letter that is there at the start is sent at once", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(accepts)
		o.add("e1", "mon-a")
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(0)
		b.expectState("e1", "sent")
	})

	scenario(t, "a wake-up sends a new letter at once", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(accepts)
		b := start(t, o, r, func(c *delivery.Config) { c.PollInterval = time.Hour })
		defer b.stop()
		b.after(10 * time.Minute)
		o.add("e1", "mon-a")
		b.wake <- struct{}{}
		b.after(0)
		b.expectState("e1", "sent")
	})

	scenario(t, "a wake-up that got lost costs one poll at most", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(accepts)
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(10*time.Second + 500*time.Millisecond)
		o.add("e1", "mon-a")
		b.after(time.Second)
		b.expectState("e1", "sent")
	})

	scenario(t, "a wake channel that closes leaves it polling", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(accepts)
		b := start(t, o, r, nil)
		defer b.stop()
		close(b.wake)
		b.after(30 * time.Second)
		if o.leases > 40 {
			t.Errorf("%d looks at the outbox in 30 s of nothing", o.leases)
		}
		o.add("e1", "mon-a")
		b.after(time.Second)
		b.expectState("e1", "sent")
	})

	scenario(t, "four attempts, 1 s, 2 s and 4 s apart, then the monitor ends", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(refuses)
		o.add("e1", "mon-a")
		o.add("e2", "mon-a")
		o.add("e3", "mon-b")
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(time.Minute)
		if got, want := r.times("e1"), seconds(0, 1, 3, 7); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
		b.expectState("e1", "failed")
		b.expectState("e2", "failed")
		if r.times("e2") != nil {
			t.Error("a letter behind a failed one was sent")
		}
		if slices.Sort(b.ended); !slices.Equal(b.ended, []monitor.ID{"mon-a", "mon-b"}) {
			t.Errorf("ended %v, want mon-a and mon-b once each", b.ended)
		}
		if n := strings.Count(b.log.String(), "level=ERROR msg=\"webhook failed for good\""); n != 2 {
			t.Errorf("%d error lines, want 2:\n%s", n, b.log.String())
		}
		if strings.Contains(b.log.String(), "geheim") {
			t.Error("the callback's query is in the log")
		}
	})

	scenario(t, "Retry-After puts the next attempt off", func(t *testing.T) {
		o := &outbox{}
		r := newReceiver(func(_ context.Context, l delivery.Delivery) delivery.Attempt {
			if l.Attempts == 0 {
				return delivery.Attempt{Status: 429, Error: "HTTP 429", RetryAfter: 25 * time.Second}
			}
			return delivery.Attempt{Status: 200}
		})
		o.add("e1", "mon-a")
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(time.Minute)
		if got, want := r.times("e1"), seconds(0, 25); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
		b.expectState("e1", "sent")
	})

	scenario(t, "letters of a monitor arrive in order, one at a time, past retries", func(t *testing.T) {
		o := &outbox{}
		r := newReceiver(func(_ context.Context, l delivery.Delivery) delivery.Attempt {
			time.Sleep(300 * time.Millisecond)
			if l.EventID == "e2" && l.Attempts < 2 {
				return delivery.Attempt{Status: 502, Error: "HTTP 502"}
			}
			return delivery.Attempt{Status: 200}
		})
		for i := range 5 {
			o.add(fmt.Sprintf("e%d", i+1), "mon-a")
		}
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(10 * time.Second)
		var order []string
		for _, a := range r.seen() {
			order = append(order, a.id)
		}
		if want := []string{"e1", "e2", "e2", "e2", "e3", "e4", "e5"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if r.overlap {
			t.Error("two letters of one monitor were in flight at once")
		}
	})

	scenario(t, "the next letter of a monitor follows without waiting for a poll", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(accepts)
		for i := range 100 {
			o.add(fmt.Sprintf("e%d", i), "mon-a")
		}
		b := start(t, o, r, func(c *delivery.Config) { c.PollInterval = time.Hour })
		defer b.stop()
		b.after(0)
		b.expectState("e99", "sent")
	})

	scenario(t, "receivers that hang hold up nobody else", func(t *testing.T) {
		o := &outbox{}
		r := newReceiver(func(ctx context.Context, l delivery.Delivery) delivery.Attempt {
			if l.MonitorID != "mon-good" {
				return hangs(ctx, l)
			}
			return delivery.Attempt{Status: 200}
		})
		for i := range 50 {
			o.add(fmt.Sprintf("h%d", i), monitor.ID(fmt.Sprintf("mon-%d", i)))
		}
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(time.Second)
		o.add("g1", "mon-good")
		b.wake <- struct{}{}
		b.after(0)
		b.expectState("g1", "sent")
		b.after(time.Minute)
		if got, want := r.times("h0"), seconds(0, 11, 23, 37); !slices.Equal(got, want) {
			t.Errorf("attempts at a hanging receiver at %v, want %v: pauses count from the end of an attempt", got, want)
		}
	})

	scenario(t, "no more letters are leased than there are workers for", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(hangs)
		for i := range 10 {
			o.add(fmt.Sprintf("h%d", i), monitor.ID(fmt.Sprintf("mon-%d", i)))
		}
		b := start(t, o, r, func(c *delivery.Config) { c.MaxInFlight = 3 })
		defer b.stop()
		b.after(9 * time.Second)
		if n := len(r.seen()); n != 3 {
			t.Errorf("%d letters in flight, want 3", n)
		}
		b.after(2 * time.Second)
		if n := len(r.seen()); n != 6 {
			t.Errorf("%d letters tried after one limit, want 6", n)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]delivery.Config{
		"a lease too short for an attempt": {LeaseDuration: 15 * time.Second},
		"a negative number of workers":     {MaxInFlight: -1},
		"a negative poll":                  {PollInterval: -time.Second},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			if _, err := delivery.New(&outbox{}, newReceiver(accepts), nil, cfg); err == nil {
				t.Error("accepted")
			}
		})
	}
}
