package history

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Sizes of a MonitorExpiry. Small batches keep every lock below 100 ms.
const (
	expiryBatch = 500              // events, incidents or lines of their logs
	expiryPage  = 100              // monitors
	expiryTime  = 30 * time.Second // of one run; the next run goes on
)

// EndedMonitor is a monitor that has ended, and when.
type EndedMonitor struct {
	ID      monitor.ID
	EndedAt time.Time
}

// MonitorExpiryStore deletes ended monitors with their events and incidents. Its methods may be called
// concurrently, by several gateways; ages count by the store's clock. A row that
// another transaction is changing is left for the next call.
type MonitorExpiryStore interface {
	// ExpiringMonitors returns up to limit monitors that ended more than age ago, in the
	// order of their ends, from after on.
	ExpiringMonitors(ctx context.Context, age time.Duration, after EndedMonitor, limit int) ([]EndedMonitor, error)

	// DeleteEvents deletes up to limit events of a monitor that are older than age and
	// not pending, and returns how many.
	DeleteEvents(ctx context.Context, id monitor.ID, age time.Duration, limit int) (int, error)

	// DeleteIncidents deletes up to limit incidents of a monitor that were resolved more
	// than age ago and have no evidence. It first deletes up to limit lines of their logs.
	DeleteIncidents(ctx context.Context, id monitor.ID, age time.Duration, limit int) (incidents, lines int, err error)

	// DeleteNotifications deletes up to limit silences, storms and notices that ended more than
	// age ago, and returns how many. Incidents and deliveries that are still there outlive them.
	DeleteNotifications(ctx context.Context, age time.Duration, limit int) (int, error)

	// DeleteMonitor deletes an ended monitor of which nothing else is stored: no event, incident, evidence or history.
	DeleteMonitor(ctx context.Context, id monitor.ID) error
}

// MonitorExpiry deletes monitors that ended long ago, with their events and incidents (section 16.5).
// The elected gateway runs it.
type MonitorExpiry struct {
	store     MonitorExpiryStore
	retention time.Duration
	log       *slog.Logger
}

// NewMonitorExpiry returns a MonitorExpiry that keeps events and incidents of ended monitors for
// retention.
func NewMonitorExpiry(store MonitorExpiryStore, retention time.Duration, log *slog.Logger) *MonitorExpiry {
	return &MonitorExpiry{store, retention, log.With("component", "history")}
}

type expired struct{ events, incidents int }

// Run deletes what has expired, for at most 30 s, and logs how much that was. It may
// be cut at any point: the next run goes on.
func (e *MonitorExpiry) Run(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, expiryTime)
	defer cancel()
	var total expired
	err := e.run(limited, &total)
	if total != (expired{}) {
		e.log.Info("expired events and incidents of ended monitors deleted", "events", total.events, "incidents", total.incidents)
	}
	if limited.Err() != nil && ctx.Err() == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete expired events: %w", err)
	}
	return nil
}

func (e *MonitorExpiry) run(ctx context.Context, total *expired) error {
	if _, err := inBatches(expiryBatch, func() (int, error) { return e.store.DeleteNotifications(ctx, e.retention, expiryBatch) }); err != nil {
		return err
	}
	var after EndedMonitor
	for {
		page, err := e.store.ExpiringMonitors(ctx, e.retention, after, expiryPage)
		if err != nil {
			return err
		}
		for _, m := range page {
			if err := e.expire(ctx, m.ID, total); err != nil {
				return err
			}
		}
		if len(page) < expiryPage {
			return nil
		}
		after = page[len(page)-1]
	}
}

func (e *MonitorExpiry) expire(ctx context.Context, id monitor.ID, total *expired) error {
	events, err := inBatches(expiryBatch, func() (int, error) { return e.store.DeleteEvents(ctx, id, e.retention, expiryBatch) })
	total.events += events
	if err != nil {
		return err
	}
	_, err = inBatches(expiryBatch, func() (int, error) {
		incidents, lines, err := e.store.DeleteIncidents(ctx, id, e.retention, expiryBatch)
		total.incidents += incidents
		return max(incidents, lines), err
	})
	if err != nil {
		return err
	}
	return e.store.DeleteMonitor(ctx, id)
}

// inBatches repeats a step until it has had less to do than a whole batch, of size, or
// fails. It returns how much all steps have done.
func inBatches(size int, step func() (done int, err error)) (total int, err error) {
	for {
		n, err := step()
		total += n
		if err != nil || n < size {
			return total, err
		}
	}
}
