package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// writers is how many reports wait for their answers at once, for the measured rate: one of each
// monitor, as workers have.
const writers = 64

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// arrange stores webhooks to receivers of these kinds, the channels, and monitors of as many streams.
// All events of the monitors go to all of them.
func (b *bed) arrange(ctx context.Context, webhooks []string, channels []fakeChannel, monitors int) ([]monitor.ID, error) {
	var all []notify.Destination
	for _, kind := range webhooks {
		all = append(all, notify.Destination{Kind: notify.Webhook, Secrets: map[string]string{"url": b.receivers.url(kind), "signing_key": "a key of the bench"}})
	}
	for _, c := range channels {
		all = append(all, c.destination)
	}
	for _, d := range all {
		d.ID = newID()
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
	return b.register(ctx, monitors)
}

// removeDestinations deletes the present destinations with their deliveries, and all incidents.
func (b *bed) removeDestinations(ctx context.Context) error {
	for _, id := range b.created {
		if err := b.store.DeleteDestination(ctx, id); err != nil {
			return err
		}
	}
	b.created = nil
	if _, err := b.db.ExecContext(ctx, `DELETE FROM incidents`); err != nil { // else the next destinations are told of them
		return err
	}
	return b.store.PurgeDestinations(ctx)
}

// register stores n monitors, each of another stream.
func (b *bed) register(ctx context.Context, n int) ([]monitor.ID, error) {
	ids := make([]monitor.ID, n)
	for k := range ids {
		now := time.Now().UTC()
		m := monitor.Monitor{
			ID: monitor.NewID(uuid.Must(uuid.NewV7())), StreamURL: monitor.StreamURL("https://www.youtube.com/watch?v=" + newID()[25:36]),
			CallbackURL: monitor.CallbackURL(b.receivers.url(callbacks)), Config: monitor.DefaultConfig(), Metadata: json.RawMessage(`{"channel_name":"Example Channel"}`),
			Status: monitor.Initializing, StreamStatus: monitor.StreamUnknown, Health: monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown},
			Generation: 1, CreatedAt: now, UpdatedAt: now,
		}
		if err := b.store.Insert(ctx, m, 10000); err != nil {
			return nil, fmt.Errorf("register a monitor: %w", err)
		}
		ids[k] = m.ID
	}
	return ids, nil
}

// report stores one event without an incident, as the report of a worker does.
func (b *bed) report(ctx context.Context, id monitor.ID) (eventID string, err error) {
	now := time.Now().UTC()
	return b.reportEvent(ctx, id, event.Event{ID: newID(), Type: event.StreamStarted, At: now, Data: event.Started{StartedAt: now, DetectedAt: now}})
}

// reportBlackout stores the event that opens an incident.
func (b *bed) reportBlackout(ctx context.Context, id monitor.ID) error {
	now := time.Now().UTC()
	_, err := b.reportEvent(ctx, id, event.Event{ID: newID(), Type: event.Blackout, At: now, Data: event.Alert{DurationSec: 30, StartedAt: now, ThresholdSec: 30}})
	return err
}

// openIncident opens an incident, and returns when it was stored. It was opened before the others, so that
// they are no storm.
func (b *bed) openIncident(ctx context.Context, id monitor.ID) (stored time.Time, err error) {
	if err := b.reportBlackout(ctx, id); err != nil {
		return time.Time{}, err
	}
	stored = time.Now()
	_, err = b.db.ExecContext(ctx, `UPDATE incidents SET opened_at = opened_at - make_interval(secs => $1) WHERE monitor_id = $2`,
		(2 * notify.StormWindow).Seconds(), string(id))
	return stored, err
}

// reportEvent stores an event, as the report of a worker does.
func (b *bed) reportEvent(ctx context.Context, id monitor.ID, e event.Event) (eventID string, err error) {
	now := time.Now().UTC()
	answer, err := b.store.Accept(ctx, id, monitor.Report{
		Generation: 1, At: now, Status: monitor.Monitoring, StreamStatus: monitor.StreamLive,
		Health: monitor.Health{Video: monitor.OK, Audio: monitor.OK, LastCheckAt: now}, Events: []event.Event{e}, Snapshot: json.RawMessage(`{"mode":"monitoring"}`),
	})
	if err == nil && answer.Order != monitor.Run {
		err = fmt.Errorf("a report is answered by %q", answer.Order)
	}
	return e.ID, err
}

// storeEvents stores events for the duration, eventsPerSecond at most, and returns how many.
func (b *bed) storeEvents(ctx context.Context, monitors []monitor.ID, duration time.Duration) (int, error) {
	began := time.Now()
	var next atomic.Int64
	var all sync.WaitGroup
	failed := make([]error, writers)
	for w := range writers {
		all.Go(func() {
			for failed[w] == nil && ctx.Err() == nil {
				n := next.Add(1) - 1
				due := time.Duration(n) * time.Second / eventsPerSecond
				if due >= duration || time.Since(began) >= duration {
					next.Add(-1)
					return
				}
				time.Sleep(time.Until(began.Add(due)))
				_, failed[w] = b.report(ctx, monitors[int(n)%len(monitors)])
			}
		})
	}
	all.Wait()
	return int(next.Load()), errors.Join(errors.Join(failed...), ctx.Err())
}
