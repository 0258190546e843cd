package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	ntfysender "github.com/stream-monitor/stream-monitor/adapters/notifier/ntfy"
	slacksender "github.com/stream-monitor/stream-monitor/adapters/notifier/slack"
	telegramsender "github.com/stream-monitor/stream-monitor/adapters/notifier/telegram"
	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

// bed holds the parts of a measurement.
type bed struct {
	store     *postgres.Store
	db        bench.Database
	receivers *receivers
	created   []string // IDs of the present destinations
}

// withBed calls do with a store and receivers.
func withBed(ctx context.Context, db bench.Database, do func(*bed) error) error {
	keys, err := secretbox.ParseKeys("0123456789abcdef0123456789abcdef")
	if err != nil {
		return err
	}
	box, err := secretbox.New(keys)
	if err != nil {
		return err
	}
	return bench.WithStore(ctx, db.DSN, postgres.Config{Zone: time.UTC, Secrets: box}, func(store *postgres.Store) error {
		b := &bed{store: store, db: db, receivers: startReceivers()}
		defer b.receivers.close()
		return do(b)
	})
}

// dispatching calls do while a dispatcher runs.
func (b *bed) dispatching(ctx context.Context, do func() error) error {
	renderer, err := message.Load(message.Config{Zone: time.UTC})
	if err != nil {
		return err
	}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	client := notifier.NewClient(notifier.Config{AllowedNetworks: loopback})
	webhooks := webhook.NewSender(webhook.Keys{"key"}, webhook.NewGuard(loopback, nil), webhook.Config{Version: "bench"})
	defer webhooks.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d, err := delivery.New(b.store.Outbox, delivery.NewSender(delivery.SenderConfig{Webhooks: webhooks, Renderer: renderer, Messages: map[notify.Kind]message.Sender{
		notify.Slack: slacksender.New(client), notify.Telegram: telegramsender.New(client), notify.Ntfy: ntfysender.New(client),
	}}), b.store.Listen(ctx), delivery.Config{GracePeriod: time.Second})
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	defer running.Wait()
	defer cancel()
	return do()
}

// arrange stores webhooks to receivers of these kinds, the channels, and monitors of as many streams.
// All events of the monitors go to all of them, and to none of before.
func (b *bed) arrange(ctx context.Context, webhooks []string, channels []fakeChannel, monitors int) ([]monitor.ID, error) {
	if err := b.removeDestinations(ctx); err != nil {
		return nil, err
	}
	var all []notify.Destination
	for _, kind := range webhooks {
		all = append(all, notify.Destination{Kind: notify.Webhook, Secrets: map[string]string{"url": b.receivers.URL + "/" + kind, "signing_key": "a key of the bench"}})
	}
	for _, c := range channels {
		all = append(all, c.destination)
	}
	for _, d := range all {
		d.ID = bench.NewID()
		d.Name, d.Language, d.Enabled = "bench "+d.ID, notify.English, true
		if _, err := b.store.CreateDestination(ctx, d); err != nil {
			return nil, err
		}
		b.created = append(b.created, d.ID)
	}
	routes, err := b.store.Routes(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := b.store.ChangeRoute(ctx, routes[len(routes)-1].ID, func(r *notify.Route) error {
		r.Destinations = slices.Clone(b.created)
		return nil
	}); err != nil {
		return nil, err
	}
	ids := make([]monitor.ID, monitors)
	for k := range ids {
		m := bench.NewMonitor(monitor.CallbackURL(b.receivers.URL+"/"+callbacks), `{"channel_name":"Example Channel"}`)
		if err := b.store.Insert(ctx, m, 10000); err != nil {
			return nil, fmt.Errorf("register a monitor: %w", err)
		}
		ids[k] = m.ID
	}
	return ids, nil
}

// removeDestinations deletes the present destinations with their deliveries, and all incidents: else the
// next destinations are told of them.
func (b *bed) removeDestinations(ctx context.Context) error {
	for _, id := range b.created {
		if err := b.store.DeleteDestination(ctx, id); err != nil {
			return err
		}
	}
	b.created = nil
	if _, err := b.db.ExecContext(ctx, `DELETE FROM incidents`); err != nil {
		return err
	}
	return b.store.PurgeDestinations(ctx)
}

// report stores an event, as the report of a worker does.
func (b *bed) report(ctx context.Context, id monitor.ID, e event.Event) error {
	answer, err := b.store.Accept(ctx, id, bench.NewReport(e))
	if err == nil && answer.Order != monitor.Run {
		err = fmt.Errorf("a report is answered by %q", answer.Order)
	}
	return err
}

// openIncident opens an incident, and returns when it was stored. It was opened before the others, so that
// they are no storm.
func (b *bed) openIncident(ctx context.Context, id monitor.ID) (stored time.Time, err error) {
	if err := b.report(ctx, id, bench.NewBlackout()); err != nil {
		return time.Time{}, err
	}
	stored = time.Now()
	_, err = b.db.ExecContext(ctx, `UPDATE incidents SET opened_at = opened_at - make_interval(secs => $1) WHERE monitor_id = $2`,
		(2 * notify.StormWindow).Seconds(), string(id))
	return stored, err
}
