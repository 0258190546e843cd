// Command benchdeliver measures deliveries to destinations (section 19.4): with a database
// of its own, a dispatcher, and webhooks to receivers in this process, on loopback.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

// The limits of the measurements.
const (
	maxP99        = 20 * time.Millisecond  // from the stored event to its webhook
	maxMessageP99 = 100 * time.Millisecond // to the message
	maxDrain      = 3 * time.Minute
	maxDelay      = 20 * time.Second // of the last message to a channel, beyond its rate limit
)

// Sizes of the measurements.
const (
	healthy, hanging, refusing = 30, 10, 10
	channelsOfAKind            = 2   // of the healthy, for each of three kinds
	backlogEvents              = 220 // for each webhook destination, those of incidents included
	backlogIncidents           = 64  // for each channel; more than the largest burst
	singleEvents               = 300
	singlePause                = 30 * time.Millisecond
	singleMessages             = 40
)

const help = `How fast are events delivered?

  - With 10,000 pending deliveries to 50 destinations, of which 10 hang and 10 refuse: how long it
    takes until the healthy 30 have everything. Six of these are channels, which have rate limits.
  - Without a backlog: the time from the stored event, and from before its report, to its webhook and
    to its message.
  - With up to 2,000 events a second: how many are stored without destinations, with 3 for each event,
    and while a dispatcher delivers; and what CPU time an event costs.
  - From the backlog that this leaves: how many deliveries are made while nothing is stored, callbacks
    included, and what CPU time a delivery costs.

The exit code is 1 if a healthy destination lacks something, if one webhook or message of 100 is slow
without a backlog, or if a channel is faster than its rate limit allows, or slower by more than 20 s.
`

func main() {
	duration := flag.Duration("for", 10*time.Second, "how long events are stored for the measured rate")
	bench.Main("bench-deliver", help, func(ctx context.Context) error {
		return bench.InTempDir(func(dir string) error {
			return bench.WithDatabase(ctx, dir, slog.DiscardHandler, func(db bench.Database) error {
				return withBed(ctx, db, func(b *bed) error {
					return errors.Join(b.measureBacklog(ctx), b.measureSingle(ctx), b.measureMessages(ctx), b.measureRate(ctx, *duration))
				})
			})
		})
	})
}

// measureBacklog stores what is to be delivered, starts a dispatcher, and waits for the
// healthy destinations.
func (b *bed) measureBacklog(ctx context.Context) error {
	channels := startChannels(channelsOfAKind)
	defer closeChannels(channels)
	webhooks := healthy - len(channels)
	monitors, err := b.arrange(ctx, slices.Concat(
		slices.Repeat([]string{fine}, webhooks), slices.Repeat([]string{hangs}, hanging), slices.Repeat([]string{refuses}, refusing)), channels, backlogIncidents)
	if err != nil {
		return err
	}
	for n := range backlogEvents - backlogIncidents {
		if err := b.report(ctx, monitors[n%len(monitors)], bench.NewStart()); err != nil {
			return err
		}
	}
	for _, id := range monitors {
		if _, err := b.openIncident(ctx, id); err != nil {
			return err
		}
	}
	began := time.Now()
	return b.dispatching(ctx, func() error {
		want := webhooks * backlogEvents
		for len(b.receivers.arrivals(0)) < want && time.Since(began) < maxDrain && wait.For(ctx, 10*time.Millisecond) {
		}
		got := len(b.receivers.arrivals(0))
		took := time.Since(began)
		fmt.Printf("%d pending at %d destinations, %d hang and %d refuse: the %d healthy webhooks have %d of %d after %.1f s, %.0f /s\n",
			(webhooks+hanging+refusing)*backlogEvents+len(channels)*backlogIncidents, healthy+hanging+refusing, hanging, refusing, webhooks,
			got, want, took.Seconds(), float64(got)/took.Seconds())
		if got < want {
			return fmt.Errorf("the healthy destinations lack %d deliveries after %s", want-got, maxDrain)
		}
		return awaitMessages(ctx, channels, began, backlogIncidents)
	})
}

// awaitMessages waits until each channel has n messages. Each must have them in the time that its
// rate limit allows: after its burst, one message in each interval.
func awaitMessages(ctx context.Context, all []fakeChannel, began time.Time, n int) error {
	var errs []error
	for _, c := range all {
		known, _ := notify.ChannelOf(c.destination.Kind)
		limit := known.RateLimit
		least := time.Duration(n-limit.Burst) * limit.Interval
		for len(c.server.Messages()) < n && time.Since(began) < least+maxDelay && wait.For(ctx, 100*time.Millisecond) {
		}
		got := c.server.Messages()
		if len(got) != n {
			errs = append(errs, fmt.Errorf("%s has %d messages after %s, want %d", known.Kind, len(got), least+maxDelay, n))
			continue
		}
		took := got[n-1].PostedAt.Sub(began)
		fmt.Printf("  %s, one message in %s after a burst of %d: %d after %.1f s, at least %.1f s\n",
			known.Kind, limit.Interval, limit.Burst, n, took.Seconds(), least.Seconds())
		if took < least-limit.Interval {
			errs = append(errs, fmt.Errorf("%s has its messages after %s, its rate limit allows %s", known.Kind, took, least))
		}
	}
	return errors.Join(errs...)
}

// measureSingle measures the time to a webhook without a backlog.
func (b *bed) measureSingle(ctx context.Context) error {
	monitors, err := b.arrange(ctx, []string{fine}, nil, 20)
	if err != nil {
		return err
	}
	before := len(b.receivers.arrivals(0))
	return b.measureLatency(ctx, "webhook", singleEvents, maxP99, func(n int) (time.Time, error) {
		err := b.report(ctx, monitors[n%len(monitors)], bench.NewStart())
		return time.Now(), err
	}, func() []time.Time { return b.receivers.arrivals(before) })
}

// measureMessages measures the time to a message.
func (b *bed) measureMessages(ctx context.Context) error {
	channels := startChannels(1)
	defer closeChannels(channels)
	phone := channels[len(channels)-1] // ntfy, which takes 60 messages at once
	monitors, err := b.arrange(ctx, nil, []fakeChannel{phone}, singleMessages)
	if err != nil {
		return err
	}
	return b.measureLatency(ctx, "message", singleMessages, maxMessageP99, func(n int) (time.Time, error) { return b.openIncident(ctx, monitors[n]) },
		func() (at []time.Time) {
			for _, m := range phone.server.Messages() {
				at = append(at, m.PostedAt)
			}
			return at
		})
}

// measureLatency stores n events, one after the other, and prints the times from the stored event, and
// from before its report, until something arrives. store returns when the event was stored; its answer
// comes later, so that it may come last. Error: one in a hundred takes longer than most after it was stored.
func (b *bed) measureLatency(ctx context.Context, what string, n int, most time.Duration, store func(int) (time.Time, error), arrivals func() []time.Time) error {
	var fromReport, fromStored bench.Times
	err := b.dispatching(ctx, func() error {
		for i := range n {
			began := time.Now()
			stored, err := store(i)
			if err != nil {
				return err
			}
			for len(arrivals()) == i && time.Since(began) < maxDelay && wait.For(ctx, time.Millisecond) {
			}
			all := arrivals()
			if len(all) == i {
				return fmt.Errorf("%s %d has not come after %s", what, i+1, maxDelay)
			}
			fromReport, fromStored = append(fromReport, all[i].Sub(began)), append(fromStored, max(all[i].Sub(stored), 0))
			wait.For(ctx, singlePause)
		}
		return nil
	})
	fmt.Printf("stored event to %s:        %s\nbefore its report to %s:   %s\n", what, fromStored, what, fromReport)
	if err == nil && fromStored.Percentile(99) > most {
		err = fmt.Errorf("expected a p99 of at most %s from a stored event to its %s", most, what)
	}
	return err
}
