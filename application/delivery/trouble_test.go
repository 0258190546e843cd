package delivery_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
)

func TestDatabaseTroubles(t *testing.T) {
	scenario(t, "a letter under another gateway's lease is taken when that runs out", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(accepts)
		o.add("e1", "mon-a")
		if _, err := o.Lease(t.Context(), 1, 30*time.Second); err != nil {
			t.Fatal(err)
		}
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(29 * time.Second)
		b.expectState("e1", "pending")
		b.after(2 * time.Second)
		b.expectState("e1", "sent")
	})

	scenario(t, "a database that is away loses nothing and is not hammered", func(t *testing.T) {
		o, r := &outbox{down: true}, newReceiver(accepts)
		o.add("e1", "mon-a")
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(time.Minute)
		if o.leases > 65 {
			t.Errorf("asked %d times in a minute", o.leases)
		}
		o.set(func(o *outbox) { o.down = false })
		b.after(time.Second)
		b.expectState("e1", "sent")
	})

	scenario(t, "an outcome that cannot be stored at once is stored later, without sending again", func(t *testing.T) {
		o, r := &outbox{recordIs: true}, newReceiver(accepts)
		o.add("e1", "mon-a")
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(5 * time.Second)
		o.set(func(o *outbox) { o.recordIs = false })
		b.after(10 * time.Second)
		b.expectState("e1", "sent")
		if n := len(r.seen()); n != 1 {
			t.Errorf("sent %d times, want once", n)
		}
	})

	scenario(t, "a failure that cannot be stored within the lease sends the letter again", func(t *testing.T) {
		tries := 0
		o, r := &outbox{recordIs: true}, newReceiver(func(ctx context.Context, l delivery.Delivery) delivery.Attempt {
			if tries++; tries == 1 {
				return refuses(ctx, l)
			}
			return accepts(ctx, l)
		})
		o.add("e1", "mon-a")
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(29 * time.Second)
		if n := len(r.seen()); n != 1 {
			t.Errorf("sent %d times within its lease, want once", n)
		}
		b.after(1900 * time.Millisecond)
		o.set(func(o *outbox) { o.recordIs = false })
		b.after(10 * time.Second)
		b.expectState("e1", "sent")
		if n := len(r.seen()); n != 2 {
			t.Errorf("sent %d times, want twice", n)
		}
		if !strings.Contains(b.log.String(), "could not be stored") {
			t.Errorf("no line about it:\n%s", b.log.String())
		}
	})
}

// A letter that was taken is sent again by nobody who knows, however long that
// cannot be stored.
func TestATakenLetterIsNotSentAgain(t *testing.T) {
	stored := func(t *testing.T, b *office, r *origin) {
		t.Helper()
		b.outbox.set(func(o *outbox) { o.down, o.recordIs = false, false })
		b.after(10 * time.Second)
		b.expectState("e1", "sent")
		if n := len(r.seen()); n != 1 {
			t.Errorf("sent %d times, want once", n)
		}
		if strings.Contains(b.log.String(), "could not be stored") {
			t.Errorf("it is said that it would be sent again:\n%s", b.log.String())
		}
	}

	for name, trouble := range map[string]func(*outbox){
		"while the database is away":      func(o *outbox) { o.down = true },
		"though it could be leased again": func(o *outbox) { o.recordIs = true },
	} {
		scenario(t, name, func(t *testing.T) {
			o := &outbox{}
			r := newReceiver(func(ctx context.Context, l delivery.Delivery) delivery.Attempt {
				o.set(trouble)
				return accepts(ctx, l)
			})
			o.add("e1", "mon-a")
			b := start(t, o, r, nil)
			defer b.stop()
			b.after(100 * time.Second)
			stored(t, b, r)
		})
	}

	scenario(t, "when another gateway has tried it since, in vain", func(t *testing.T) {
		o, r := &outbox{recordIs: true}, newReceiver(accepts)
		o.add("e1", "mon-a")
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(29 * time.Second)
		o.set(func(o *outbox) { o.entries[0].letter.Attempts, o.entries[0].letter.Lease = 1, "another's" })
		b.after(20 * time.Second)
		stored(t, b, r)
	})

	scenario(t, "when that is stored just while it is leased again", func(t *testing.T) {
		o, r := &outbox{recordIs: true}, newReceiver(accepts)
		o.add("e1", "mon-a")
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(29 * time.Second)
		o.set(func(o *outbox) { o.slow = 2 * time.Second })
		for first := o.find("e1").letter.Lease; o.find("e1").letter.Lease == first; {
			b.after(10 * time.Millisecond)
		}
		stored(t, b, r)
	})

	scenario(t, "and one that takes its place is sent", func(t *testing.T) {
		o, r := &outbox{recordIs: true}, newReceiver(accepts)
		o.add("e1", "mon-a")
		o.add("e2", "mon-a")
		b := start(t, o, r, func(c *delivery.Config) { c.MaxInFlight = 1 })
		defer b.stop()
		b.after(50 * time.Second)
		o.set(func(o *outbox) { o.recordIs = false })
		b.after(2 * time.Second)
		b.expectState("e1", "sent")
		b.expectState("e2", "sent")
		if n := len(r.seen()); n != 2 {
			t.Errorf("%d were sent, want 2", n)
		}
	})
}

func TestClocks(t *testing.T) {
	// ahead ends every lease, as a database does whose clock jumps ahead.
	ahead := func(o *outbox) {
		for _, e := range o.entries {
			e.heldTill = time.Time{}
		}
	}
	slow := func(status int) func(context.Context, delivery.Delivery) delivery.Attempt {
		return func(_ context.Context, l delivery.Delivery) delivery.Attempt {
			time.Sleep(5 * time.Second)
			if l.Attempts == 0 && status != 200 {
				return delivery.Attempt{Status: status, Error: "no"}
			}
			return delivery.Attempt{Status: 200}
		}
	}

	scenario(t, "a letter whose lease ends early is not sent beside itself", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(slow(200))
		o.add("e1", "mon-a")
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(time.Second)
		o.set(ahead)
		b.after(10 * time.Second)
		b.expectState("e1", "sent")
		if n := len(r.seen()); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})

	scenario(t, "its failure is recorded under the lease that it has then", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(slow(500))
		o.add("e1", "mon-a")
		b := start(t, o, r, nil)
		defer b.stop()
		b.after(time.Second)
		o.set(ahead)
		b.after(12 * time.Second)
		b.expectState("e1", "sent")
		if got, want := r.times("e1"), seconds(0, 6); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
	})
}

func TestShutdown(t *testing.T) {
	scenario(t, "stopping waits for the letters in flight and records them", func(t *testing.T) {
		o := &outbox{}
		r := newReceiver(func(ctx context.Context, _ delivery.Delivery) delivery.Attempt {
			select {
			case <-time.After(8 * time.Second):
				return delivery.Attempt{Status: 200}
			case <-ctx.Done():
				return delivery.Attempt{Error: "cancelled"}
			}
		})
		o.add("e1", "mon-a")
		o.add("e2", "mon-a")
		b := start(t, o, r, nil)
		b.after(time.Second)
		b.stop()
		b.expectState("e1", "sent")
		b.expectState("e2", "pending")
		if n := len(r.seen()); n != 1 {
			t.Errorf("%d letters tried, want 1: nothing is begun after the stop", n)
		}
	})

	scenario(t, "stopping is bounded, and what is cut short does not count as tried", func(t *testing.T) {
		o, r := &outbox{}, newReceiver(hangs)
		o.add("e1", "mon-a")
		b := start(t, o, r, func(c *delivery.Config) { c.GracePeriod = 2 * time.Second })
		b.after(time.Second)
		asked := time.Now()
		b.stop()
		if took := time.Since(asked); took != 2*time.Second {
			t.Errorf("stopping took %v, want 2s", took)
		}
		if e := o.find("e1"); e.state != "pending" || len(e.answers) != 0 {
			t.Errorf("left as %s with %d attempts, want pending with none", e.state, len(e.answers))
		}
	})

	scenario(t, "stopping while the database is away is bounded", func(t *testing.T) {
		o, r := &outbox{recordIs: true}, newReceiver(accepts)
		o.add("e1", "mon-a")
		b := start(t, o, r, func(c *delivery.Config) { c.GracePeriod = 2 * time.Second })
		b.after(time.Second)
		asked := time.Now()
		b.stop()
		if took := time.Since(asked); took > 2*time.Second {
			t.Errorf("stopping took %v, want 2s at most", took)
		}
	})
}
