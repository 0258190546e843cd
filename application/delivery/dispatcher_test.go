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
		h := run(t, &fakeOutbox{}, accepts)
		h.advance(10*time.Second + 500*time.Millisecond)
		h.outbox.add(toCallback("e1", "mon-a"))
		h.wake <- struct{}{}
		h.advance(0)
		h.expect("e1", "delivered", 1)
	})

	scenario(t, "the dispatcher polls after the wake channel was closed", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, accepts)
		close(h.wake)
		h.advance(30 * time.Second)
		if h.outbox.leases > 40 {
			t.Errorf("%d leases in 30 s without events", h.outbox.leases)
		}
		h.outbox.add(toCallback("e1", "mon-a"))
		h.advance(time.Second)
		h.expect("e1", "delivered", 1)
	})

	scenario(t, "the end of a delivery is no reason to look for more, unless it made something due or others wait for it", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, accepts)
		leases := func(when string, want int) {
			t.Helper()
			before := h.outbox.leases
			h.wake <- struct{}{}
			h.advance(0)
			if n := h.outbox.leases - before; n != want {
				t.Errorf("%s: %d leases, want %d", when, n, want)
			}
		}
		h.advance(0)
		h.outbox.add(toCallback("e1", "mon-a"))
		h.outbox.add(toCallback("e2", "mon-b"))
		leases("two events, none behind another", 1)
		h.outbox.add(toCallback("e3", "mon-a"))
		h.outbox.add(toCallback("e4", "mon-a"))
		leases("one event behind another", 2)
		for n := range notify.MaxPerDestination + 1 {
			h.outbox.add(delivery.Delivery{ID: fmt.Sprint("n", n), Destination: newDestination("slack", notify.Slack), Notice: &message.Notice{}})
		}
		leases("one more than a destination gets at once", 2)
		h.expect("e4", "delivered", 1)
		h.expect("n4", "delivered", notify.MaxPerDestination+1)
	})

	scenario(t, "at most MaxInFlight deliveries are leased", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(hangs)
		for i := range 10 {
			o.add(toCallback(fmt.Sprintf("h%d", i), monitor.ID(fmt.Sprintf("mon-%d", i))))
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
		h := run(t, &fakeOutbox{}, refuses, toCallback("e1", "mon-a"), toCallback("e2", "mon-a"), toCallback("e3", "mon-b"))
		h.advance(time.Minute)
		if got, want := h.receiver.times("e1"), seconds(0, 1, 3, 7); !slices.Equal(got, want) {
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

	scenario(t, "a monitor that goes on is not ended", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, refuses, toCallback("e1", "mon-a", monitor.Continue))
		h.advance(20 * time.Second)
		if got, want := h.receiver.times("e1"), seconds(0, 1, 3, 7); !slices.Equal(got, want) || len(h.ended) != 0 || !strings.Contains(h.log.String(), "its monitor goes on") {
			t.Errorf("attempts at %v, ended %v, the log says:\n%s", got, h.ended, h.log.String())
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
		o.add(toCallback("e1", "mon-a"))
		h := start(t, o, r, nil)
		h.advance(time.Minute)
		if got, want := r.times("e1"), seconds(0, 25); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
		h.expect("e1", "delivered", 2)
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
			o.add(toCallback(fmt.Sprintf("h%d", i), monitor.ID(fmt.Sprintf("mon-%d", i))))
		}
		h := start(t, o, r, nil)
		h.advance(time.Second)
		o.add(toCallback("g1", "mon-good"))
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
