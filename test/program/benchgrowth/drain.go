package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

const (
	drained  = 10_000 // monitors with a pending event
	maxDrain = 15 * time.Second
	giveUp   = 10 * time.Minute
)

// pendingCallbacks gives each of the first monitors a pending event.
const pendingCallbacks = `
	WITH events AS (
		INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', 'pending', now() + seq * interval '1 microsecond' FROM monitors ORDER BY seq LIMIT $1
		RETURNING id, monitor_id, created_at)
	INSERT INTO deliveries (id, monitor_id, event_id, queue, state, due_at, created_at)
	SELECT id, monitor_id, id, monitor_id, 'pending', now(), created_at FROM events ORDER BY created_at`

// measureDrain gives monitors a pending event each, and starts a dispatcher.
func measureDrain(ctx context.Context, store *postgres.Store, db bench.Database) error {
	inserted, err := db.ExecContext(ctx, pendingCallbacks, drained)
	if err != nil {
		return err
	}
	want, err := inserted.RowsAffected()
	if err != nil {
		return err
	}
	receiver := &instantReceiver{}
	dispatcher, err := delivery.New(store.Outbox, delivery.NewSender(delivery.SenderConfig{Webhooks: receiver}), nil, delivery.Config{GracePeriod: time.Second})
	if err != nil {
		return err
	}
	began := time.Now()
	ctx, stop := context.WithTimeout(ctx, giveUp)
	var running sync.WaitGroup
	running.Go(func() { dispatcher.Run(ctx) })
	for receiver.got.Load() < want && wait.For(ctx, 10*time.Millisecond) {
	}
	took := time.Since(began)
	stop()
	running.Wait()
	fmt.Printf("%d of %d monitors with a pending event have it delivered after %.1f s\n", receiver.got.Load(), want, took.Seconds())
	if took > maxDrain {
		return fmt.Errorf("the delivery of an event of %d monitors took %s, more than %s", want, took, maxDrain)
	}
	return nil
}

// instantReceiver counts deliveries and accepts them.
type instantReceiver struct{ got atomic.Int64 }

// Send implements delivery.WebhookSender.
func (r *instantReceiver) Send(context.Context, monitor.CallbackURL, delivery.Event, []string) event.Attempt {
	r.got.Add(1)
	return event.Attempt{At: time.Now(), Status: 204}
}
