package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestADispatcherSendsWhatIsDue(t *testing.T) {
	scenario(t, "a notification sends what is new at once", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(accepts)
		h := start(t, o, r, nil)
		h.advance(10*time.Second + 500*time.Millisecond)
		o.addEvent("e1", "mon-a")
		h.wake <- struct{}{}
		h.advance(0)
		h.expect("e1", "delivered", 1)
	})

	scenario(t, "what is new is sent within a second if its notification was lost", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(accepts)
		h := start(t, o, r, nil)
		h.advance(10*time.Second + 500*time.Millisecond)
		o.addEvent("e1", "mon-a")
		h.advance(time.Second)
		h.expect("e1", "delivered", 1)
	})

	scenario(t, "the dispatcher polls after the wake channel was closed", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(accepts)
		h := start(t, o, r, nil)
		close(h.wake)
		h.advance(30 * time.Second)
		if o.leases > 40 {
			t.Errorf("%d leases in 30 s without events", o.leases)
		}
		o.addEvent("e1", "mon-a")
		h.advance(time.Second)
		h.expect("e1", "delivered", 1)
	})

	scenario(t, "the end of a delivery is no reason to look for more, unless it made something due or others wait for it", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(accepts)
		h := start(t, o, r, nil)
		leases := func(when string, want int) {
			t.Helper()
			before := o.leases
			h.wake <- struct{}{}
			h.advance(0)
			if n := o.leases - before; n != want {
				t.Errorf("%s: %d leases, want %d", when, n, want)
			}
		}
		h.advance(0)
		o.addEvent("e1", "mon-a")
		o.addEvent("e2", "mon-b")
		leases("two events, none behind another", 1)
		o.addEvent("e3", "mon-a")
		o.addEvent("e4", "mon-a")
		leases("one event behind another", 2)
		for n := range notify.MaxPerDestination + 1 {
			o.add(delivery.Delivery{ID: fmt.Sprint("n", n), Destination: newDestination("slack", notify.Slack), Notice: &message.Notice{}})
		}
		leases("one more than a destination gets at once", 2)
		h.expect("e4", "delivered", 1)
		h.expect("n4", "delivered", notify.MaxPerDestination+1)
	})

	scenario(t, "at most MaxInFlight deliveries are leased", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(hangs)
		for i := range 10 {
			o.addEvent(fmt.Sprintf("h%d", i), monitor.ID(fmt.Sprintf("mon-%d", i)))
		}
		h := start(t, o, r, func(_ *delivery.SenderConfig, c *delivery.Config) { c.MaxInFlight = 3 })
		h.advance(9 * time.Second)
		if n := len(r.sendings); n != 3 {
			t.Errorf("%d deliveries in flight, want 3", n)
		}
		h.advance(2 * time.Second)
		if n := len(r.sendings); n != 6 {
			t.Errorf("%d deliveries attempted after one timeout, want 6", n)
		}
	})
}

func TestACallbackGetsTheEventsOfItsMonitorByItsPolicy(t *testing.T) {
	scenario(t, "the monitor ends after four attempts, 1 s, 2 s and 4 s apart", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(refuses)
		o.addEvent("e1", "mon-a")
		o.addEvent("e2", "mon-a")
		o.addEvent("e3", "mon-b")
		h := start(t, o, r, nil)
		h.advance(time.Minute)
		if got, want := r.times("e1"), seconds(0, 1, 3, 7); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
		h.expect("e1", "failed", 4)
		h.expect("e2", "failed", 0)
		if slices.Sort(h.ended); !slices.Equal(h.ended, []monitor.ID{"mon-a", "mon-b"}) {
			t.Errorf("ended %v, want mon-a and mon-b once each", h.ended)
		}
		for line, want := range map[string]int{"level=ERROR msg=\"webhook failed for good,": 2, "level=ERROR msg=\"monitor ended:": 2, "geheim": 0} {
			if n := strings.Count(h.log.String(), line); n != want {
				t.Errorf("%d lines with %s, want %d:\n%s", n, line, want, h.log.String())
			}
		}
	})

	scenario(t, "a monitor that goes on sends what is behind, and the failed event when the receiver is back", func(t *testing.T) {
		o, began := &fakeOutbox{}, time.Now()
		r := newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
			if time.Since(began) < time.Minute {
				return refuses(ctx, s, tried)
			}
			return accepts(ctx, s, tried)
		})
		o.addEvent("e1", "mon-a", monitor.Continue)
		o.addEvent("e2", "mon-a", monitor.Continue)
		h := start(t, o, r, nil)
		h.advance(20 * time.Second)
		if got, want := r.times("e2"), seconds(7, 8, 10, 14); len(r.times("e1")) != 4 || !slices.Equal(got, want) || len(h.ended) != 0 {
			t.Errorf("after 20 s: attempts at %v and %v, ended %v", r.times("e1"), got, h.ended)
		}
		h.advance(4 * time.Minute)
		h.expect("e1", "delivered", len(r.times("e1")))
		h.expect("e2", "delivered", len(r.times("e2")))
		if n := strings.Count(h.log.String(), "its monitor goes on"); n < 2 {
			t.Errorf("%d lines say that the monitor goes on:\n%s", n, h.log.String())
		}
	})

	scenario(t, "Retry-After delays the next attempt", func(t *testing.T) {
		o := &fakeOutbox{}
		r := newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
			if tried == 1 {
				return message.Result{Attempt: event.Attempt{Status: 429, Error: "HTTP 429", RetryAfter: 25 * time.Second}, Class: notify.Retry}
			}
			return accepts(ctx, s, tried)
		})
		o.addEvent("e1", "mon-a")
		h := start(t, o, r, nil)
		h.advance(time.Minute)
		if got, want := r.times("e1"), seconds(0, 25); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
		h.expect("e1", "delivered", 2)
	})

	scenario(t, "a status that fails a destination at once is retried", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(failing(2, 410, notify.Gone))
		o.addEvent("e1", "mon-a")
		h := start(t, o, r, nil)
		h.advance(time.Minute)
		h.expect("e1", "delivered", 3)
	})

	scenario(t, "the events of a monitor are delivered in order, one at a time, also when one is retried", func(t *testing.T) {
		o := &fakeOutbox{}
		r := newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
			time.Sleep(300 * time.Millisecond)
			if s.to == "e2" && tried < 3 {
				return refuses(ctx, s, tried)
			}
			return accepts(ctx, s, tried)
		})
		for i := range 5 {
			o.addEvent(fmt.Sprintf("e%d", i+1), "mon-a")
		}
		h := start(t, o, r, nil)
		h.advance(10 * time.Second)
		var order []string
		for _, s := range r.sendings {
			order = append(order, s.to)
		}
		if want := []string{"e1", "e2", "e2", "e2", "e3", "e4", "e5"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if r.overlap {
			t.Error("two events of one monitor were in flight at once")
		}
	})

	scenario(t, "the next event of a monitor is sent without waiting for a poll", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(accepts)
		for i := range 100 {
			o.addEvent(fmt.Sprintf("e%d", i), "mon-a")
		}
		h := start(t, o, r, nil)
		h.advance(0)
		h.expect("e99", "delivered", 1)
	})
}

func TestAnEventThatFailsForAMinuteLetsTheNextOnePass(t *testing.T) { // section 19.4
	scenario(t, "to a webhook", func(t *testing.T) {
		o := &fakeOutbox{}
		r := newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
			if s.to == "e1" {
				return refuses(ctx, s, tried)
			}
			return accepts(ctx, s, tried)
		})
		hook := newDestination("hook", notify.Webhook)
		o.add(aboutEvent("e1", hook))
		o.add(aboutEvent("e2", hook))
		h := start(t, o, r, nil)
		h.advance(59 * time.Second)
		h.expect("e2", "pending", 0)
		h.advance(2 * time.Second)
		h.expect("e2", "delivered", 1)
		h.expect("e1", "pending", 5)
		if at := r.times("e2")[0]; at < time.Minute || at > time.Minute+100*time.Millisecond { // jitter moves the leases before
			t.Errorf("the second is sent at %v", at)
		}
	})
}

func TestAReceiverThatHangsDelaysNoOther(t *testing.T) {
	scenario(t, "50 callbacks", func(t *testing.T) {
		o := &fakeOutbox{}
		r := newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
			if s.event.MonitorID != "mon-good" {
				return hangs(ctx, s, tried)
			}
			return accepts(ctx, s, tried)
		})
		for i := range 50 {
			o.addEvent(fmt.Sprintf("h%d", i), monitor.ID(fmt.Sprintf("mon-%d", i)))
		}
		h := start(t, o, r, nil)
		h.advance(time.Second)
		o.addEvent("g1", "mon-good")
		h.wake <- struct{}{}
		h.advance(0)
		h.expect("g1", "delivered", 1)
		h.advance(time.Minute)
		if got, want := r.times("h0"), seconds(0, 11, 23, 37); !slices.Equal(got, want) {
			t.Errorf("attempts at a hanging receiver at %v, want %v: pauses count from the end of an attempt", got, want)
		}
	})

	for name, hanging := range map[string]int{"one destination with 133 deliveries": 1, "199 destinations": 199} {
		scenario(t, name, func(t *testing.T) {
			o := &fakeOutbox{}
			r := newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
				if s.to == "fine" {
					return accepts(ctx, s, tried)
				}
				return hangs(ctx, s, tried)
			})
			for n := range hanging {
				for k := range 128/hanging + 5 {
					o.add(aboutIncident(fmt.Sprintf("d%d-%d", n, k), newDestination(fmt.Sprintf("hangs %d", n), notify.Slack)))
				}
			}
			o.add(aboutIncident("last", newDestination("fine", notify.Slack)))
			h := start(t, o, r, nil)
			h.advance(50 * time.Millisecond)
			h.expect("last", "idle", 1)
			if n := len(r.sent("hangs 0")); n != notify.MaxPerDestination {
				t.Errorf("%d are in flight to one destination", n)
			}
		})
	}
}

func TestAConfigOutOfRangeIsRefused(t *testing.T) {
	for name, cfg := range map[string]delivery.Config{"no slots": {MaxInFlight: -1}, "a negative grace period": {GracePeriod: -1}} {
		if _, err := delivery.New(&fakeOutbox{}, delivery.NewSender(delivery.SenderConfig{}), nil, cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
