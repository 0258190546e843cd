package delivery_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestNothingIsLostWhenTheDatabaseFails(t *testing.T) {
	scenario(t, "an unreachable database is asked about once a second", func(t *testing.T) {
		h := run(t, &fakeOutbox{down: true}, accepts, toCallback("e1", "mon-a"))
		h.advance(time.Minute)
		if h.outbox.leases > 65 {
			t.Errorf("asked %d times in a minute", h.outbox.leases)
		}
		h.outbox.set(func(o *fakeOutbox) { o.down = false })
		h.advance(time.Second)
		h.expect("e1", "delivered", 1)
	})

	scenario(t, "a success that cannot be stored at once is stored later, without sending again", func(t *testing.T) {
		h := run(t, &fakeOutbox{recordFails: true}, accepts, toCallback("e1", "mon-a"))
		h.advance(5 * time.Second)
		h.outbox.set(func(o *fakeOutbox) { o.recordFails = false })
		h.advance(10 * time.Second)
		h.expect("e1", "delivered", 1)
	})

	scenario(t, "an event whose failure cannot be stored within the lease is sent again", func(t *testing.T) {
		h := run(t, &fakeOutbox{recordFails: true}, failing(1, 500, notify.Retry), toCallback("e1", "mon-a"))
		h.advance(29 * time.Second)
		h.expect("e1", "pending", 1)
		h.advance(1900 * time.Millisecond)
		h.outbox.set(func(o *fakeOutbox) { o.recordFails = false })
		h.advance(10 * time.Second)
		h.expect("e1", "delivered", 2)
		if !strings.Contains(h.log.String(), "could not be stored") {
			t.Errorf("the log does not mention it:\n%s", h.log.String())
		}
	})
}

func TestWhatWasAcceptedIsNotSentAgainUntilItsSuccessIsStored(t *testing.T) {
	// expectOne lets the database work again. Both an event and a message must have been sent once.
	expectOne := func(t *testing.T, h *harness) {
		t.Helper()
		h.outbox.set(func(o *fakeOutbox) { o.down, o.recordFails = false, false })
		h.advance(10 * time.Second)
		h.expect("e1", "delivered", 1)
		h.expect("d1", "idle", 1)
		if strings.Contains(h.log.String(), "could not be stored") {
			t.Errorf("the log says that it will be sent again:\n%s", h.log.String())
		}
	}
	both := func(o *fakeOutbox) *fakeOutbox {
		o.add(toCallback("e1", "mon-a"))
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		return o
	}

	for name, trouble := range map[string]func(*fakeOutbox){
		"while the database does not answer": func(o *fakeOutbox) { o.down = true },
		"though it can be leased again":      func(o *fakeOutbox) { o.recordFails = true },
	} {
		scenario(t, name, func(t *testing.T) {
			o := both(&fakeOutbox{})
			r := newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
				o.set(trouble)
				return accepts(ctx, s, tried)
			})
			h := start(t, o, r, nil)
			h.advance(100 * time.Second)
			expectOne(t, h)
		})
	}

	scenario(t, "when another gateway has tried it since and failed", func(t *testing.T) {
		o, r := both(&fakeOutbox{recordFails: true}), newReceiver(accepts)
		h := start(t, o, r, nil)
		h.advance(29 * time.Second)
		o.set(func(o *fakeOutbox) {
			for _, e := range o.entries {
				e.delivery.Tried, e.delivery.LeaseID = 1, "of another gateway"
			}
		})
		h.advance(20 * time.Second)
		expectOne(t, h)
	})

	scenario(t, "when its success is stored while it is leased again", func(t *testing.T) {
		o, r := both(&fakeOutbox{recordFails: true}), newReceiver(accepts)
		h := start(t, o, r, nil)
		h.advance(29 * time.Second)
		o.set(func(o *fakeOutbox) { o.leaseDelay = 2 * time.Second })
		for first := o.find("e1").delivery.LeaseID; o.find("e1").delivery.LeaseID == first; {
			h.advance(10 * time.Millisecond)
		}
		expectOne(t, h)
	})

	scenario(t, "and the next event of its monitor is sent", func(t *testing.T) {
		o, r := &fakeOutbox{recordFails: true}, newReceiver(accepts)
		o.add(toCallback("e1", "mon-a"))
		o.add(toCallback("e2", "mon-a"))
		h := start(t, o, r, func(_ *delivery.SenderConfig, c *delivery.Config) { c.MaxInFlight = 1 })
		h.advance(50 * time.Second)
		o.set(func(o *fakeOutbox) { o.recordFails = false })
		h.advance(2 * time.Second)
		h.expect("e1", "delivered", 1)
		h.expect("e2", "delivered", 1)
	})
}

// A lease ends early where the clock of the database jumps ahead.
func TestWhatIsInFlightIsNotSentASecondTimeWhenItsLeaseEndsEarly(t *testing.T) {
	expireLeases := func(o *fakeOutbox) {
		for _, e := range o.entries {
			e.leasedUntil = time.Time{}
		}
	}
	slow := func(answer func(context.Context, sending, int) message.Result) func(context.Context, sending, int) message.Result {
		return func(ctx context.Context, s sending, tried int) message.Result {
			time.Sleep(5 * time.Second)
			return answer(ctx, s, tried)
		}
	}

	scenario(t, "its success is stored", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, slow(accepts), toCallback("e1", "mon-a"))
		h.advance(time.Second)
		h.outbox.set(expireLeases)
		h.advance(10 * time.Second)
		h.expect("e1", "delivered", 1)
	})

	scenario(t, "its failure costs one lease", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, slow(failing(1, 500, notify.Retry)), toCallback("e1", "mon-a"))
		h.advance(500 * time.Millisecond)
		h.outbox.set(expireLeases)
		h.advance(50 * time.Second)
		h.expect("e1", "delivered", 2)
		if got, want := h.receiver.times("e1"), seconds(0, 31); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
	})
}

func TestRunEndsWithinTheGracePeriod(t *testing.T) {
	twoSeconds := func(_ *delivery.SenderConfig, c *delivery.Config) { c.GracePeriod = 2 * time.Second }

	scenario(t, "deliveries in flight are completed and recorded", func(t *testing.T) {
		o := &fakeOutbox{}
		r := newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
			select {
			case <-time.After(8 * time.Second):
				return accepts(ctx, s, tried)
			case <-ctx.Done():
				return message.Result{Attempt: event.Attempt{Error: "cancelled"}, Class: notify.Retry}
			}
		})
		o.add(toCallback("e1", "mon-a"))
		o.add(toCallback("e2", "mon-a"))
		h := start(t, o, r, nil)
		h.advance(time.Second)
		h.stop()
		h.expect("e1", "delivered", 1)
		h.expect("e2", "pending", 0) // none may begin after the stop
	})

	scenario(t, "a delivery that is cut short does not count as an attempt", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(hangs)
		o.add(toCallback("e1", "mon-a"))
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, r, twoSeconds)
		h.advance(time.Second)
		asked := time.Now()
		h.stop()
		if took := time.Since(asked); took != 2*time.Second {
			t.Errorf("stopping took %v, want 2s", took)
		}
		for _, id := range []string{"e1", "d1"} {
			if e := o.find(id); e.state != "pending" || len(e.outcomes) != 0 {
				t.Errorf("%s is left as %s with %d attempts, want pending with none", id, e.state, len(e.outcomes))
			}
		}
	})

	scenario(t, "also when an attempt cannot be recorded", func(t *testing.T) {
		o, r := &fakeOutbox{recordFails: true}, newReceiver(accepts)
		o.add(toCallback("e1", "mon-a"))
		h := start(t, o, r, twoSeconds)
		h.advance(time.Second)
		asked := time.Now()
		h.stop()
		if took := time.Since(asked); took > 2*time.Second {
			t.Errorf("stopping took %v, want 2s at most", took)
		}
	})
}
