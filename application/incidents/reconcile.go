package incidents

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// ReconcileEvery is the interval at which the elected gateway compares incidents
// that go on with what the watch sees.
const ReconcileEvery = 30 * time.Second

// Watched is an incident of an active monitor, and what the watch sees. It is open, or a
// person has resolved it and something lasts.
type Watched struct {
	Incident

	Present history.Current
}

// ReconcileStore reads and corrects incidents that go on. Its methods may be called
// concurrently, by several gateways.
type ReconcileStore interface {
	// WatchedIncidents reads incidents of active monitors, by their place, at most
	// limit after a place.
	WatchedIncidents(ctx context.Context, after int64, limit int) ([]Watched, error)

	// EndConditions gives an incident inputs that no worker reported. changed reports
	// whether one of them has changed it.
	EndConditions(ctx context.Context, incidentID string, inputs []incident.Good) (changed bool, err error)
}

// Reconcile ends conditions whose end no worker reports
// (section 16.1). Without it such an incident would be open until its monitor ends.
type Reconcile struct {
	store ReconcileStore
	now   func() time.Time
	log   *slog.Logger
}

// NewReconcile makes an Reconcile. The default of now is time.Now, that
// of log slog.Default.
func NewReconcile(store ReconcileStore, now func() time.Time, log *slog.Logger) *Reconcile {
	if now == nil {
		now = time.Now
	}
	if log == nil {
		log = slog.Default()
	}
	return &Reconcile{store, now, log.With("component", "incidents")}
}

// reconcileBatch is how many incidents one query reads.
const reconcileBatch = 200

// Run compares every incident that goes on once. The elected gateway runs it every
// ReconcileEvery; a second one at the same time does no harm.
func (r *Reconcile) Run(ctx context.Context) error {
	for after := int64(0); ; {
		page, err := r.store.WatchedIncidents(ctx, after, reconcileBatch)
		if err != nil {
			return fmt.Errorf("reconcile incidents: %w", err)
		}
		for _, i := range page {
			after = i.Seq
			if err := r.reconcile(ctx, i); err != nil {
				return fmt.Errorf("reconcile incident %s: %w", i.ID, err)
			}
		}
		if len(page) < reconcileBatch {
			return nil
		}
	}
}

func (r *Reconcile) reconcile(ctx context.Context, i Watched) error {
	inputs := i.Unreported(r.now(), i.Present)
	if len(inputs) == 0 {
		return nil
	}
	changed, err := r.store.EndConditions(ctx, i.ID, inputs)
	if err != nil || !changed {
		return err
	}
	names := make([]incident.Name, 0, len(inputs))
	for _, in := range inputs {
		names = append(names, in.Condition)
	}
	r.log.Info("conditions of an incident have ended: no worker reported it, and the watch has seen nothing of them for minutes",
		"monitor_id", string(i.MonitorID), "incident_id", i.ID, "conditions", join(names))
	return nil
}
