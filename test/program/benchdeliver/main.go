// Command benchdeliver measures deliveries to destinations (section 19.4): with a database
// of its own, a dispatcher, and webhooks to receivers in this process, on loopback.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
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
	stormStreams               = 1000 // that go black within a second
	stormWait                  = 20 * time.Second
	fanOut                     = 3
	eventsPerSecond            = 2000
)

const help = `How fast are events delivered?

  - With 10,000 pending deliveries to 50 destinations, of which 10 hang and 10 refuse: how long it
    takes until the healthy 30 have everything. Six of these are channels, which have rate limits.
  - Without a backlog: the time from the stored event, and from before its report, to its webhook and
    to its message.
  - When 1,000 streams go black within a second: when their webhooks and messages come.
  - With up to 2,000 events a second: how many are stored without destinations, with 3 for each event,
    and while a dispatcher delivers; and what CPU time an event costs.
  - From the backlog that this leaves: how many deliveries are made while nothing is stored, callbacks
    included, and what CPU time a delivery costs.

The exit code is 1 if a healthy destination lacks something, if one webhook or message of 100 is slow
without a backlog, or if a channel is faster than its rate limit allows, or slower by more than 20 s.
`

func main() {
	duration := flag.Duration("for", 10*time.Second, "how long events are stored for the measured rate")
	rateOnly := flag.Bool("rate", false, "measure the rate only")
	bench.Main("bench-deliver", help, func(ctx context.Context) error {
		return bench.InTempDir(func(dir string) error {
			return bench.WithDatabase(ctx, dir, slog.DiscardHandler, func(db bench.Database) error {
				return measure(ctx, db, *duration, *rateOnly)
			})
		})
	})
}

// bed holds the parts of a measurement.
type bed struct {
	store     *postgres.Store
	db        bench.Database
	receivers *receivers
	sender    *webhook.Sender
	created   []string // IDs of the present destinations
}

func measure(ctx context.Context, db bench.Database, duration time.Duration, rateOnly bool) error {
	keys, err := secretbox.ParseKeys("0123456789abcdef0123456789abcdef")
	if err != nil {
		return err
	}
	box, err := secretbox.New(keys)
	if err != nil {
		return err
	}
	return bench.WithStore(ctx, db.DSN, postgres.Config{Zone: time.UTC, Secrets: box}, func(store *postgres.Store) error {
		sender := webhook.NewSender(webhook.Keys{"key"}, webhook.NewGuard([]netip.Prefix{loopback}, nil), webhook.Config{Version: "bench"})
		defer sender.Close()
		b := &bed{store: store, db: db, receivers: startReceivers(), sender: sender}
		defer b.receivers.close()
		var slow error
		if !rateOnly {
			for _, measure := range []func(context.Context) error{b.measureBacklog, b.measureSingle, b.measureMessages, b.measureStorm} {
				slow = errors.Join(slow, measure(ctx))
				if err := b.removeDestinations(ctx); err != nil {
					return err
				}
			}
		}
		return errors.Join(slow, b.measureRate(ctx, duration))
	})
}

// dispatching calls do while a dispatcher runs.
func (b *bed) dispatching(ctx context.Context, do func() error) error {
	renderer, err := message.Load(message.Config{Zone: time.UTC})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d, err := delivery.New(b.store.Outbox, delivery.NewSender(delivery.SenderConfig{Webhooks: b.sender, Messages: messageSenders(), Renderer: renderer}),
		b.store.Listen(ctx), delivery.Config{GracePeriod: time.Second})
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	err = do()
	cancel()
	running.Wait()
	return err
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
		if _, err := b.report(ctx, monitors[n%len(monitors)]); err != nil {
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
		got := b.receivers.await(ctx, want, maxDrain)
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

// latencies are the times from before a report, and from its answer, until something arrives. The
// answer comes after the event is stored, so that it may come last.
type latencies struct{ reported, stored bench.Times }

func (l *latencies) add(began, stored, arrived time.Time) {
	l.reported, l.stored = append(l.reported, arrived.Sub(began)), append(l.stored, max(arrived.Sub(stored), 0))
}

// check prints the times. Error: one in a hundred is later than most after the event was stored.
func (l *latencies) check(what string, most time.Duration) error {
	fmt.Printf("stored event to %s:        %s\nbefore its report to %s:   %s\n", what, l.stored, what, l.reported)
	if l.stored.Percentile(99) > most {
		return fmt.Errorf("expected a p99 of at most %s from a stored event to its %s", most, what)
	}
	return nil
}

// measureSingle measures the time to a webhook without a backlog.
func (b *bed) measureSingle(ctx context.Context) error {
	monitors, err := b.arrange(ctx, []string{fine}, nil, 20)
	if err != nil {
		return err
	}
	return b.dispatching(ctx, func() error {
		b.receivers.reset()
		began, stored := map[string]time.Time{}, map[string]time.Time{}
		for n := range singleEvents {
			at := time.Now()
			id, err := b.report(ctx, monitors[n%len(monitors)])
			if err != nil {
				return err
			}
			began[id], stored[id] = at, time.Now()
			time.Sleep(singlePause)
		}
		if got := b.receivers.await(ctx, singleEvents, maxDrain); got < singleEvents {
			return fmt.Errorf("%d of %d webhooks came", got, singleEvents)
		}
		var took latencies
		for id, at := range b.receivers.times() {
			took.add(began[id], stored[id], at)
		}
		return took.check("webhook", maxP99)
	})
}

// measureMessages measures the time to a message, one after the other.
func (b *bed) measureMessages(ctx context.Context) error {
	channels := startChannels(1)
	defer closeChannels(channels)
	phone := channels[len(channels)-1] // ntfy, which takes 60 messages at once
	monitors, err := b.arrange(ctx, nil, []fakeChannel{phone}, singleMessages)
	if err != nil {
		return err
	}
	return b.dispatching(ctx, func() error {
		var took latencies
		for n, id := range monitors {
			began := time.Now()
			stored, err := b.openIncident(ctx, id)
			if err != nil {
				return err
			}
			for len(phone.server.Messages()) == n && time.Since(began) < maxDelay {
				time.Sleep(time.Millisecond)
			}
			got := phone.server.Messages()
			if len(got) == n {
				return fmt.Errorf("message %d has not come after %s", n+1, maxDelay)
			}
			took.add(began, stored, got[n].PostedAt)
		}
		return took.check("message", maxMessageP99)
	})
}

// measureStorm measures what follows when many streams go black within a second.
func (b *bed) measureStorm(ctx context.Context) error {
	channels := startChannels(1)
	defer closeChannels(channels)
	monitors, err := b.arrange(ctx, []string{fine}, channels, stormStreams)
	if err != nil {
		return err
	}
	return b.dispatching(ctx, func() error {
		b.receivers.reset()
		began := time.Now()
		var all sync.WaitGroup
		failed := make([]error, len(monitors))
		for n, id := range monitors {
			all.Go(func() {
				time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / stormStreams)))
				failed[n] = b.reportBlackout(ctx, id)
			})
		}
		all.Wait()
		stored := time.Since(began)
		if err := errors.Join(failed...); err != nil {
			return err
		}
		got := b.receivers.await(ctx, stormStreams, stormWait)
		delivered := time.Since(began)
		time.Sleep(time.Until(began.Add(stormWait)))
		var deadlocks, open int
		if err := b.db.QueryRowContext(ctx, `SELECT (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()),
			(SELECT count(*) FROM incidents WHERE state = 'open' AND monitor_id = ANY (SELECT id FROM monitors ORDER BY seq DESC LIMIT 1000))`).Scan(&deadlocks, &open); err != nil {
			return err
		}
		fmt.Printf("%d streams go black in a second: reports stored after %.1f s, %d of %d webhooks after %.1f s, %d incidents, %d deadlocks\n",
			stormStreams, stored.Seconds(), got, stormStreams, delivered.Seconds(), open, deadlocks)
		for _, c := range channels {
			messages := c.server.Messages()
			for _, m := range messages[max(0, len(messages)-3):] {
				fmt.Printf("  %s, %d messages, after %.1f s with %d edits: %.60s\n", c.destination.Kind, len(messages), m.PostedAt.Sub(began).Seconds(), m.Edits, m.Text)
			}
		}
		if deadlocks > 0 || open != stormStreams || got < stormStreams {
			return errors.New("an incident or a webhook is missing, or two transactions waited for each other")
		}
		return nil
	})
}

// measureRate stores events for the duration, eventsPerSecond at most: without destinations,
// with some, and while a dispatcher delivers; and then deliveries alone. It does not wait
// for the deliveries that are then pending: measureBacklog measures how fast a backlog goes.
func (b *bed) measureRate(ctx context.Context, duration time.Duration) error {
	monitors, err := b.register(ctx, writers)
	if err != nil {
		return err
	}
	if err := b.measureStoring(ctx, "without destinations", monitors, duration, 0); err != nil {
		return err
	}
	if monitors, err = b.arrange(ctx, slices.Repeat([]string{fine}, fanOut), nil, writers); err != nil {
		return err
	}
	if err := b.measureStoring(ctx, fmt.Sprintf("%d destinations for each event, nothing delivered", fanOut), monitors, duration, fanOut); err != nil {
		return err
	}
	return b.dispatching(ctx, func() error {
		if err := b.measureStoring(ctx, fmt.Sprintf("%d destinations for each event, delivering meanwhile", fanOut), monitors, duration, fanOut); err != nil {
			return err
		}
		return b.measureDelivering(ctx, duration)
	})
}

// measureDelivering measures deliveries from a backlog for the duration.
func (b *bed) measureDelivering(ctx context.Context, duration time.Duration) error {
	const made = `SELECT count(*) FILTER (WHERE destination_id IS NOT NULL), count(*) FROM deliveries WHERE state = 'delivered'`
	var before, after struct{ destinations, all int }
	if err := b.db.QueryRowContext(ctx, made).Scan(&before.destinations, &before.all); err != nil {
		return err
	}
	used, began := b.cpuTime(), time.Now()
	time.Sleep(duration)
	took, now := time.Since(began).Seconds(), b.cpuTime()
	if err := b.db.QueryRowContext(ctx, made).Scan(&after.destinations, &after.all); err != nil {
		return err
	}
	all := after.all - before.all
	if all == 0 {
		return errors.New("nothing is delivered from a backlog")
	}
	fmt.Printf("nothing stored meanwhile: %.0f deliveries/s made, %.0f of them to destinations; %s\n",
		float64(all)/took, float64(after.destinations-before.destinations)/took, now.per(all, used))
	return nil
}

// measureStoring stores events for the duration, and checks that each has its deliveries.
func (b *bed) measureStoring(ctx context.Context, what string, monitors []monitor.ID, duration time.Duration, deliveries int) error {
	const existing = `SELECT count(*) FROM deliveries WHERE destination_id IS NOT NULL`
	b.receivers.reset()
	var before, after int
	if err := b.db.QueryRowContext(ctx, existing).Scan(&before); err != nil {
		return err
	}
	used, began := b.cpuTime(), time.Now()
	stored, err := b.storeEvents(ctx, monitors, duration)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	fmt.Printf("%s, %d events/s wanted: %.0f events/s stored, %.0f deliveries/s made to destinations; %s\n", what, eventsPerSecond, float64(stored)/took, float64(b.receivers.count())/took,
		b.cpuTime().per(stored, used))
	if err := b.db.QueryRowContext(ctx, existing).Scan(&after); err != nil {
		return err
	}
	if after-before != stored*deliveries {
		return fmt.Errorf("%d events have %d deliveries, %d each wanted", stored, after-before, deliveries)
	}
	return nil
}

// cpu is the CPU time that PostgreSQL and this process have used. On a busy machine it says
// more than a rate.
type cpu struct{ server, process time.Duration }

func (b *bed) cpuTime() cpu { return cpu{b.db.CPU(system.Processes()), bench.OwnCPU()} }

// per says what an event cost since an earlier time.
func (c cpu) per(events int, before cpu) string {
	return fmt.Sprintf("CPU for each: PostgreSQL %.2f ms, this process %.2f ms", bench.MS(c.server-before.server)/float64(events), bench.MS(c.process-before.process)/float64(events))
}
