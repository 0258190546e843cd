package callback_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
)

func TestNoEventIsLostWhenTheDatabaseFails(t *testing.T) {
	scenario(t, "an event under another gateway's lease is sent when that lease expires", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(accepts)
		o.add("e1", "mon-a")
		if _, err := o.Lease(t.Context(), 1, 30*time.Second); err != nil {
			t.Fatal(err)
		}
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(29 * time.Second)
		h.expectState("e1", "pending")
		h.advance(2 * time.Second)
		h.expectState("e1", "sent")
	})

	scenario(t, "an unreachable database loses no event and is asked about once a second", func(t *testing.T) {
		o, s := &fakeOutbox{down: true}, newSender(accepts)
		o.add("e1", "mon-a")
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(time.Minute)
		if o.leases > 65 {
			t.Errorf("asked %d times in a minute", o.leases)
		}
		o.set(func(o *fakeOutbox) { o.down = false })
		h.advance(time.Second)
		h.expectState("e1", "sent")
	})

	scenario(t, "a success that cannot be stored at once is stored later, without sending again", func(t *testing.T) {
		o, s := &fakeOutbox{recordFails: true}, newSender(accepts)
		o.add("e1", "mon-a")
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(5 * time.Second)
		o.set(func(o *fakeOutbox) { o.recordFails = false })
		h.advance(10 * time.Second)
		h.expectState("e1", "sent")
		if n := len(s.sent()); n != 1 {
			t.Errorf("sent %d times, want once", n)
		}
	})

	scenario(t, "an event whose failure cannot be stored within the lease is sent again", func(t *testing.T) {
		tries := 0
		o, s := &fakeOutbox{recordFails: true}, newSender(func(ctx context.Context, d callback.Delivery) delivery.Attempt {
			if tries++; tries == 1 {
				return refuses(ctx, d)
			}
			return accepts(ctx, d)
		})
		o.add("e1", "mon-a")
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(29 * time.Second)
		if n := len(s.sent()); n != 1 {
			t.Errorf("sent %d times within its lease, want once", n)
		}
		h.advance(1900 * time.Millisecond)
		o.set(func(o *fakeOutbox) { o.recordFails = false })
		h.advance(10 * time.Second)
		h.expectState("e1", "sent")
		if n := len(s.sent()); n != 2 {
			t.Errorf("sent %d times, want twice", n)
		}
		if !strings.Contains(h.log.String(), "could not be stored") {
			t.Errorf("the log does not mention it:\n%s", h.log.String())
		}
	})
}

func TestADeliveredEventIsNotSentAgainUntilItsSuccessIsStored(t *testing.T) {
	expectOneAttempt := func(t *testing.T, h *harness, s *fakeSender) {
		t.Helper()
		h.outbox.set(func(o *fakeOutbox) { o.down, o.recordFails = false, false })
		h.advance(10 * time.Second)
		h.expectState("e1", "sent")
		if n := len(s.sent()); n != 1 {
			t.Errorf("sent %d times, want once", n)
		}
		if strings.Contains(h.log.String(), "could not be stored") {
			t.Errorf("the log says that it will be sent again:\n%s", h.log.String())
		}
	}

	for name, trouble := range map[string]func(*fakeOutbox){
		"while the database does not answer": func(o *fakeOutbox) { o.down = true },
		"though it can be leased again":      func(o *fakeOutbox) { o.recordFails = true },
	} {
		scenario(t, name, func(t *testing.T) {
			o := &fakeOutbox{}
			s := newSender(func(ctx context.Context, d callback.Delivery) delivery.Attempt {
				o.set(trouble)
				return accepts(ctx, d)
			})
			o.add("e1", "mon-a")
			h := start(t, o, s, nil)
			defer h.stop()
			h.advance(100 * time.Second)
			expectOneAttempt(t, h, s)
		})
	}

	scenario(t, "when another gateway has tried it since and failed", func(t *testing.T) {
		o, s := &fakeOutbox{recordFails: true}, newSender(accepts)
		o.add("e1", "mon-a")
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(29 * time.Second)
		o.set(func(o *fakeOutbox) {
			o.entries[0].delivery.Attempts, o.entries[0].delivery.LeaseID = 1, "of another gateway"
		})
		h.advance(20 * time.Second)
		expectOneAttempt(t, h, s)
	})

	scenario(t, "when its success is stored while it is leased again", func(t *testing.T) {
		o, s := &fakeOutbox{recordFails: true}, newSender(accepts)
		o.add("e1", "mon-a")
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(29 * time.Second)
		o.set(func(o *fakeOutbox) { o.leaseDelay = 2 * time.Second })
		for first := o.find("e1").delivery.LeaseID; o.find("e1").delivery.LeaseID == first; {
			h.advance(10 * time.Millisecond)
		}
		expectOneAttempt(t, h, s)
	})

	scenario(t, "and the next event of its monitor is sent", func(t *testing.T) {
		o, s := &fakeOutbox{recordFails: true}, newSender(accepts)
		o.add("e1", "mon-a")
		o.add("e2", "mon-a")
		h := start(t, o, s, func(c *callback.Config) { c.MaxInFlight = 1 })
		defer h.stop()
		h.advance(50 * time.Second)
		o.set(func(o *fakeOutbox) { o.recordFails = false })
		h.advance(2 * time.Second)
		h.expectState("e1", "sent")
		h.expectState("e2", "sent")
		if n := len(s.sent()); n != 2 {
			t.Errorf("%d were sent, want 2", n)
		}
	})
}

func TestALeaseThatEndsEarlyCausesNoSecondSending(t *testing.T) {
	// expireLeases ends every lease, as a database does whose clock jumps ahead.
	expireLeases := func(o *fakeOutbox) {
		for _, e := range o.entries {
			e.leasedUntil = time.Time{}
		}
	}
	slow := func(status int) func(context.Context, callback.Delivery) delivery.Attempt {
		return func(_ context.Context, d callback.Delivery) delivery.Attempt {
			time.Sleep(5 * time.Second)
			if d.Attempts == 0 && status != 200 {
				return delivery.Attempt{Status: status, Error: "no"}
			}
			return delivery.Attempt{Status: 200}
		}
	}

	scenario(t, "the delivery in flight continues under the new lease", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(slow(200))
		o.add("e1", "mon-a")
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(time.Second)
		o.set(expireLeases)
		h.advance(10 * time.Second)
		h.expectState("e1", "sent")
		if n := len(s.sent()); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})

	scenario(t, "a failure is recorded under the new lease", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(slow(500))
		o.add("e1", "mon-a")
		h := start(t, o, s, nil)
		defer h.stop()
		h.advance(time.Second)
		o.set(expireLeases)
		h.advance(12 * time.Second)
		h.expectState("e1", "sent")
		if got, want := s.times("e1"), seconds(0, 6); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
	})
}

func TestRunEndsWithinTheGracePeriod(t *testing.T) {
	scenario(t, "deliveries in flight are completed and recorded", func(t *testing.T) {
		o := &fakeOutbox{}
		s := newSender(func(ctx context.Context, _ callback.Delivery) delivery.Attempt {
			select {
			case <-time.After(8 * time.Second):
				return delivery.Attempt{Status: 200}
			case <-ctx.Done():
				return delivery.Attempt{Error: "cancelled"}
			}
		})
		o.add("e1", "mon-a")
		o.add("e2", "mon-a")
		h := start(t, o, s, nil)
		h.advance(time.Second)
		h.stop()
		h.expectState("e1", "sent")
		h.expectState("e2", "pending")
		if n := len(s.sent()); n != 1 {
			t.Errorf("%d deliveries attempted, want 1: none may begin after the stop", n)
		}
	})

	scenario(t, "a delivery that is cut short does not count as an attempt", func(t *testing.T) {
		o, s := &fakeOutbox{}, newSender(hangs)
		o.add("e1", "mon-a")
		h := start(t, o, s, func(c *callback.Config) { c.GracePeriod = 2 * time.Second })
		h.advance(time.Second)
		asked := time.Now()
		h.stop()
		if took := time.Since(asked); took != 2*time.Second {
			t.Errorf("stopping took %v, want 2s", took)
		}
		if e := o.find("e1"); e.state != "pending" || len(e.attempts) != 0 {
			t.Errorf("left as %s with %d attempts, want pending with none", e.state, len(e.attempts))
		}
	})

	scenario(t, "also when an attempt cannot be recorded", func(t *testing.T) {
		o, s := &fakeOutbox{recordFails: true}, newSender(accepts)
		o.add("e1", "mon-a")
		h := start(t, o, s, func(c *callback.Config) { c.GracePeriod = 2 * time.Second })
		h.advance(time.Second)
		asked := time.Now()
		h.stop()
		if took := time.Since(asked); took > 2*time.Second {
			t.Errorf("stopping took %v, want 2s at most", took)
		}
	})
}
