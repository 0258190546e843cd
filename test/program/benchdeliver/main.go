// Command benchdeliver measures deliveries to destinations (section 19.4): with a database
// of its own, a dispatcher, and webhooks to receivers in this process, on loopback.
//
//   - With 10,000 pending deliveries to 50 destinations, of which 10 hang and 10 refuse: how
//     long it takes until the healthy 30 have everything. Six of these are channels, which
//     have rate limits.
//   - Without a backlog: the time from before a report is stored to its webhook.
//   - With up to 2,000 events a second: how many are stored without destinations, with 3 for
//     each event, and while a dispatcher delivers; and what CPU time an event costs.
//   - From the backlog that this leaves: how many deliveries are made while nothing is stored, callbacks included, and
//     what CPU time a delivery costs.
//
// It fails if a healthy webhook destination lacks something after maxDrain, or if one webhook
// of 100 takes longer than maxP99 without a backlog. It also fails if a channel is faster than its
// rate limit allows, or slower by more than maxDelay.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The limits of the measurements.
const (
	maxP99   = 50 * time.Millisecond // from before the report to the webhook
	maxDrain = 3 * time.Minute
	maxDelay = 20 * time.Second // of the last message to a channel, beyond its rate limit
)

// Sizes of the measurements.
const (
	healthy, hanging, refusing = 30, 10, 10
	channelsOfAKind            = 2   // of the healthy, for each of three kinds
	backlogEvents              = 220 // for each webhook destination, those of incidents included
	backlogIncidents           = 64  // for each channel; more than the largest burst
	singleEvents               = 300
	singlePause                = 30 * time.Millisecond
	fanOut                     = 3
	eventsPerSecond            = 2000
)

func main() {
	duration := flag.Duration("for", 10*time.Second, "how long events are stored for the measured rate")
	rateOnly := flag.Bool("rate", false, "measure the rate only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *duration, *rateOnly)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-deliver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, duration time.Duration, rateOnly bool) (err error) {
	dir, err := os.MkdirTemp("", "stream-monitor-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The database does not run as root and must be able to enter the directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	dataDir := filepath.Join(dir, "db")
	db, err := embedded.Start(ctx, embedded.Config{DataDir: dataDir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Stop(context.WithoutCancel(ctx))) }()
	b, err := newBench(ctx, db.DSN(), dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if rateOnly {
		return b.measureRate(ctx, duration)
	}
	slow := b.measureBacklog(ctx)
	if err := b.removeDestinations(ctx); err != nil {
		return err
	}
	for _, measure := range []func(context.Context) error{b.measureSingle, b.measureMessages, b.measureStorm} {
		slow = errors.Join(slow, measure(ctx))
		if err := b.removeDestinations(ctx); err != nil {
			return err
		}
	}
	return errors.Join(slow, b.measureRate(ctx, duration))
}

// bench holds the parts of a measurement.
type bench struct {
	dataDir   string // of PostgreSQL
	store     *postgres.Store
	db        *sql.DB
	receivers *receivers
	sender    *webhook.Sender
	created   []string // IDs of the present destinations
}

func newBench(ctx context.Context, dsn, dataDir string) (*bench, error) {
	keys, err := secretbox.ParseKeys("0123456789abcdef0123456789abcdef")
	if err != nil {
		return nil, err
	}
	box, err := secretbox.New(keys)
	if err != nil {
		return nil, err
	}
	store, err := postgres.Open(ctx, dsn, postgres.Config{Zone: time.UTC, Secrets: box})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(store.Migrate(ctx), store.RenewFeedEpoch(ctx)); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	guard := webhook.NewGuard([]netip.Prefix{loopback}, nil)
	sender := webhook.NewSender(webhook.Keys{"key"}, guard, webhook.Config{Version: "bench"})
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &bench{dataDir: dataDir, store: store, db: db, receivers: startReceivers(), sender: sender}, nil
}

func (b *bench) close() error {
	b.receivers.close()
	b.sender.Close()
	return errors.Join(b.db.Close(), b.store.Close())
}

// dispatch runs a dispatcher until the returned function is called.
func (b *bench) dispatch(ctx context.Context) (stop func(), err error) {
	renderer, err := message.Load(message.Config{Zone: time.UTC})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	d, err := delivery.New(b.store.Outbox, delivery.NewSender(delivery.SenderConfig{Webhooks: b.sender, Messages: messageSenders(), Renderer: renderer}),
		b.store.Listen(ctx), delivery.Config{GracePeriod: time.Second})
	if err != nil {
		cancel()
		return nil, err
	}
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	return func() { cancel(); running.Wait() }, nil
}

// measureBacklog stores what is to be delivered, starts a dispatcher, and waits for the
// healthy destinations.
func (b *bench) measureBacklog(ctx context.Context) error {
	channels := startChannels()
	defer channels.close()
	for _, c := range channels {
		if err := b.create(ctx, c.destination); err != nil {
			return err
		}
	}
	webhooks := healthy - len(channels)
	for kind, n := range map[string]int{fine: webhooks, hangs: hanging, refuses: refusing} {
		for range n {
			if err := b.addDestination(ctx, kind); err != nil {
				return err
			}
		}
	}
	if err := b.route(ctx); err != nil {
		return err
	}
	monitors, err := b.register(ctx, backlogIncidents)
	if err != nil {
		return err
	}
	for n := range backlogEvents - backlogIncidents {
		if _, err := b.report(ctx, monitors[n%len(monitors)]); err != nil {
			return err
		}
	}
	for _, id := range monitors {
		if err := b.openIncident(ctx, id); err != nil {
			return err
		}
	}
	began := time.Now()
	stop, err := b.dispatch(ctx)
	if err != nil {
		return err
	}
	defer stop()
	want := webhooks * backlogEvents
	limited, cancel := context.WithTimeout(ctx, maxDrain)
	defer cancel()
	got := b.receivers.await(limited, want)
	took := time.Since(began)
	fmt.Printf("%d pending at %d destinations, %d hang and %d refuse: the %d healthy webhooks have %d of %d after %.1f s, %.0f /s\n",
		(webhooks+hanging+refusing)*backlogEvents+len(channels)*backlogIncidents, healthy+hanging+refusing, hanging, refusing, webhooks,
		got, want, took.Seconds(), float64(got)/took.Seconds())
	if got < want {
		return fmt.Errorf("the healthy destinations lack %d deliveries after %s", want-got, maxDrain)
	}
	return channels.await(ctx, began, backlogIncidents)
}

// measureSingle measures the time from before a report to its webhook.
func (b *bench) measureSingle(ctx context.Context) error {
	if err := b.addDestination(ctx, fine); err != nil {
		return err
	}
	if err := b.route(ctx); err != nil {
		return err
	}
	monitors, err := b.register(ctx, 20)
	if err != nil {
		return err
	}
	stop, err := b.dispatch(ctx)
	if err != nil {
		return err
	}
	defer stop()
	b.receivers.reset()
	began := map[string]time.Time{}
	for n := range singleEvents {
		at := time.Now()
		id, err := b.report(ctx, monitors[n%len(monitors)])
		if err != nil {
			return err
		}
		began[id] = at
		time.Sleep(singlePause)
	}
	limited, cancel := context.WithTimeout(ctx, maxDrain)
	defer cancel()
	if got := b.receivers.await(limited, singleEvents); got < singleEvents {
		return fmt.Errorf("%d of %d webhooks came", got, singleEvents)
	}
	var took []time.Duration
	for id, at := range b.receivers.times() {
		took = append(took, at.Sub(began[id]))
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	fmt.Printf("report to webhook without a backlog: median %.1f ms, p99 %.1f ms, slowest %.1f ms\n", ms(took[len(took)/2]), ms(p99), ms(took[len(took)-1]))
	if p99 > maxP99 {
		return fmt.Errorf("expected a p99 of at most %s from a report to its webhook", maxP99)
	}
	return nil
}

// measureRate stores events for the duration, eventsPerSecond at most: without destinations,
// with some, and while a dispatcher delivers; and then deliveries alone. It does not wait
// for the deliveries that are then pending: measureBacklog measures how fast a backlog goes.
func (b *bench) measureRate(ctx context.Context, duration time.Duration) error {
	monitors, err := b.register(ctx, writers)
	if err != nil {
		return err
	}
	if err := b.measureStoring(ctx, "without destinations", monitors, duration, 0); err != nil {
		return err
	}
	for range fanOut {
		if err := b.addDestination(ctx, fine); err != nil {
			return err
		}
	}
	if err := b.route(ctx); err != nil {
		return err
	}
	if err := b.measureStoring(ctx, fmt.Sprintf("%d destinations for each event, nothing delivered", fanOut), monitors, duration, fanOut); err != nil {
		return err
	}
	stop, err := b.dispatch(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := b.measureStoring(ctx, fmt.Sprintf("%d destinations for each event, delivering meanwhile", fanOut), monitors, duration, fanOut); err != nil {
		return err
	}
	return b.measureDelivering(ctx, duration)
}

// measureDelivering measures deliveries from a backlog for the duration.
func (b *bench) measureDelivering(ctx context.Context, duration time.Duration) error {
	const made = `SELECT count(*) FILTER (WHERE destination_id IS NOT NULL), count(*) FROM deliveries WHERE state = 'delivered'`
	var before, after struct{ destinations, all int }
	if err := b.db.QueryRowContext(ctx, made).Scan(&before.destinations, &before.all); err != nil {
		return err
	}
	used, began := b.cpuTime(), time.Now()
	time.Sleep(duration)
	took, per := time.Since(began).Seconds(), b.cpuTime()
	if err := b.db.QueryRowContext(ctx, made).Scan(&after.destinations, &after.all); err != nil {
		return err
	}
	all := after.all - before.all
	if all == 0 {
		return errors.New("nothing is delivered from a backlog")
	}
	fmt.Printf("nothing stored meanwhile: %.0f deliveries/s made, %.0f of them to destinations; %s\n",
		float64(all)/took, float64(after.destinations-before.destinations)/took, per.per(all, used))
	return nil
}

// measureStoring stores events for the duration, and checks that each has its deliveries.
func (b *bench) measureStoring(ctx context.Context, what string, monitors []monitor.ID, duration time.Duration, deliveries int) error {
	b.receivers.reset()
	existing, err := b.countDeliveries(ctx)
	if err != nil {
		return err
	}
	before, began := b.cpuTime(), time.Now()
	stored, err := b.storeEvents(ctx, monitors, duration)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	fmt.Printf("%s, %d events/s wanted: %.0f events/s stored, %.0f deliveries/s made to destinations; %s\n", what, eventsPerSecond, float64(stored)/took, float64(b.receivers.count())/took,
		b.cpuTime().per(stored, before))
	all, err := b.countDeliveries(ctx)
	if err == nil && all-existing != stored*deliveries {
		err = fmt.Errorf("%d events have %d deliveries, %d each wanted", stored, all-existing, deliveries)
	}
	return err
}

func (b *bench) countDeliveries(ctx context.Context) (n int, err error) {
	err = b.db.QueryRowContext(ctx, `SELECT count(*) FROM deliveries WHERE destination_id IS NOT NULL`).Scan(&n)
	return n, err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
