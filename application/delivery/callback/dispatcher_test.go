package callback_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestADispatcherDeliversPendingEvents(t *testing.T) {
	scenario(t, "an event that is pending at the start is sent at once", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(accepts)
		o.add("e1", "mon-a")
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(0)
		h.expectState("e1", "sent")
	})

	scenario(t, "a notification sends a new event at once", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(accepts)
		h := start(t, o, s, func(c *callback.Config) { c.PollInterval = time.Hour })
		defer h.stop()
		h.advance(10 * time.Minute)
		o.add("e1", "mon-a")
		h.wake <- struct{}{}
		h.advance(0)
		h.expectState("e1", "sent")
	})

	scenario(t, "an event whose notification was lost is sent within one poll interval", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(accepts)
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(10*time.Second + 500*time.Millisecond)
		o.add("e1", "mon-a")
		h.advance(time.Second)
		h.expectState("e1", "sent")
	})

	scenario(t, "the dispatcher polls after the wake channel was closed", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(accepts)
		h := start(t, o, s, nil)
		defer h.stop()
		close(h.wake)
		h.advance(30 * time.Second)
		if o.leases > 40 {
			t.Errorf("%d leases in 30 s without events", o.leases)
		}
		o.add("e1", "mon-a")
		h.advance(time.Second)
		h.expectState("e1", "sent")
	})

	scenario(t, "the monitor ends after four attempts, 1 s, 2 s and 4 s apart", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(refuses)
		o.add("e1", "mon-a")
		o.add("e2", "mon-a")
		o.add("e3", "mon-b")
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(time.Minute)
		if got, want := s.times("e1"), seconds(0, 1, 3, 7); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
		h.expectState("e1", "failed")
		h.expectState("e2", "failed")
		if s.times("e2") != nil {
			t.Error("an event behind a failed one was sent")
		}
		if slices.Sort(h.ended); !slices.Equal(h.ended, []monitor.ID{"mon-a", "mon-b"}) {
			t.Errorf("ended %v, want mon-a and mon-b once each", h.ended)
		}
		if n := strings.Count(h.log.String(), "level=ERROR msg=\"webhook failed for good,"); n != 2 {
			t.Errorf("%d error lines, want 2:\n%s", n, h.log.String())
		}
		if strings.Contains(h.log.String(), "geheim") {
			t.Error("the callback's query is in the log")
		}
	})

	scenario(t, "a monitor that goes on sends what is behind, and the failed event when the receiver is back", func(t *testing.T) {
		o := &fakeOutbox{}
		began := time.Now()
		s := newSender(func(ctx context.Context, d callback.Delivery) delivery.Attempt {
			if time.Since(began) < time.Minute {
				return refuses(ctx, d)
			}
			return accepts(ctx, d)
		})
		o.add("e1", "mon-a")
		o.add("e2", "mon-a")
		o.set(func(o *fakeOutbox) {
			for _, e := range o.entries {
				e.delivery.OnFailure = monitor.Continue
			}
		})
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(20 * time.Second)
		if len(s.times("e1")) != 4 || len(s.times("e2")) != 4 || len(h.ended) != 0 {
			t.Errorf("after 20 s: attempts at %v and %v, ended %v", s.times("e1"), s.times("e2"), h.ended)
		}
		h.advance(4 * time.Minute)
		h.expectState("e1", "sent")
		h.expectState("e2", "sent")
		if n := strings.Count(h.log.String(), "its monitor goes on"); n < 2 {
			t.Errorf("%d lines say that the monitor goes on:\n%s", n, h.log.String())
		}
	})

	scenario(t, "Retry-After delays the next attempt", func(t *testing.T) {
		o := &fakeOutbox{}
		s := newSender(func(_ context.Context, d callback.Delivery) delivery.Attempt {
			if d.Attempts == 0 {
				return delivery.Attempt{Status: 429, Error: "HTTP 429", RetryAfter: 25 * time.Second}
			}
			return delivery.Attempt{Status: 200}
		})
		o.add("e1", "mon-a")
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(time.Minute)
		if got, want := s.times("e1"), seconds(0, 25); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
		h.expectState("e1", "sent")
	})

	scenario(t, "the events of a monitor are delivered in order, one at a time, also when one is retried", func(t *testing.T) {
		o := &fakeOutbox{}
		s := newSender(func(_ context.Context, d callback.Delivery) delivery.Attempt {
			time.Sleep(300 * time.Millisecond)
			if d.EventID == "e2" && d.Attempts < 2 {
				return delivery.Attempt{Status: 502, Error: "HTTP 502"}
			}
			return delivery.Attempt{Status: 200}
		})
		for i := range 5 {
			o.add(fmt.Sprintf("e%d", i+1), "mon-a")
		}
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(10 * time.Second)
		var order []string
		for _, a := range s.sent() {
			order = append(order, a.eventID)
		}
		if want := []string{"e1", "e2", "e2", "e2", "e3", "e4", "e5"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if s.overlap {
			t.Error("two events of one monitor were in flight at once")
		}
	})

	scenario(t, "the next event of a monitor is sent without waiting for a poll", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(accepts)
		for i := range 100 {
			o.add(fmt.Sprintf("e%d", i), "mon-a")
		}
		h := start(t, o, s, func(c *callback.Config) { c.PollInterval = time.Hour })
		defer h.stop()
		h.advance(0)
		h.expectState("e99", "sent")
	})

	scenario(t, "a receiver that does not answer delays no other receiver", func(t *testing.T) {
		o := &fakeOutbox{}
		s := newSender(func(ctx context.Context, d callback.Delivery) delivery.Attempt {
			if d.MonitorID != "mon-good" {
				return hangs(ctx, d)
			}
			return delivery.Attempt{Status: 200}
		})
		for i := range 50 {
			o.add(fmt.Sprintf("h%d", i), monitor.ID(fmt.Sprintf("mon-%d", i)))
		}
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(time.Second)
		o.add("g1", "mon-good")
		h.wake <- struct{}{}
		h.advance(0)
		h.expectState("g1", "sent")
		h.advance(time.Minute)
		if got, want := s.times("h0"), seconds(0, 11, 23, 37); !slices.Equal(got, want) {
			t.Errorf("attempts at a hanging receiver at %v, want %v: pauses count from the end of an attempt", got, want)
		}
	})

	scenario(t, "at most MaxInFlight deliveries are leased", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(hangs)
		for i := range 10 {
			o.add(fmt.Sprintf("h%d", i), monitor.ID(fmt.Sprintf("mon-%d", i)))
		}
		h := start(t, o, s, func(c *callback.Config) { c.MaxInFlight = 3 })
		defer h.stop()
		h.advance(9 * time.Second)
		if n := len(s.sent()); n != 3 {
			t.Errorf("%d deliveries in flight, want 3", n)
		}
		h.advance(2 * time.Second)
		if n := len(s.sent()); n != 6 {
			t.Errorf("%d deliveries attempted after one timeout, want 6", n)
		}
	})
}

func TestAConfigOutOfRangeIsRefused(t *testing.T) {
	for name, cfg := range map[string]callback.Config{
		"a lease too short for an attempt": {LeaseDuration: 15 * time.Second},
		"a negative number of workers":     {MaxInFlight: -1},
		"a negative poll":                  {PollInterval: -time.Second},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			if _, err := callback.New(&fakeOutbox{}, newSender(accepts), nil, cfg); err == nil {
				t.Error("accepted")
			}
		})
	}
}
