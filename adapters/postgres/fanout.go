package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// routableChanges are the events and incidents that a transaction has stored, and that routes
// may lead to destinations.
type routableChanges struct {
	events  []newEvent   // in the order of their sequence
	ended   []monitor.ID // monitors that have ended
	changed []string     // IDs of incidents
	opened  []string     // of these: they were opened or reopened
	now     time.Time    // of the changes, by the clock of the database

	incidentOf map[string]string // the IDs of incidents by those of events; without: the event belongs to none
}

// newEvent is an event that a transaction has stored.
type newEvent struct {
	event.Event

	monitor    lockedMonitor
	unrecorded bool // its incident could not be stored
}

// addEvents adds what was found about a monitor.
func (c *routableChanges) addEvents(f found, unrecorded bool) {
	for _, e := range f.events {
		c.events = append(c.events, newEvent{e, f.monitor, unrecorded})
	}
	if f.ended != nil {
		c.ended = append(c.ended, f.monitor.id)
	}
}

// routableChangesOf returns the incidents that steps have changed.
func routableChangesOf(all ...*incidentSteps) routableChanges {
	c := routableChanges{incidentOf: map[string]string{}}
	for _, s := range all {
		for _, i := range s.changed {
			c.changed = append(c.changed, i.ID)
			if slices.Contains(s.opened, i.ID) && i.State == incident.Open {
				c.opened = append(c.opened, i.ID)
			}
		}
		maps.Copy(c.incidentOf, s.incidentOf)
		c.now = s.now
	}
	return c
}

// fanOut stores what is to be delivered of the changes to destinations (section 19.4), and
// wakes the dispatchers. It logs and leaves out what the server refuses: no event waits for
// its deliveries. ReplanOpenIncidents adds within a minute what is missing. A refusal that
// passes, as that of a full disk, is an error: the worker reports the events again.
func (db *database) fanOut(ctx context.Context, tx *sqlx.Tx, run runPart, c routableChanges) error {
	if len(c.events)+len(c.changed)+len(c.ended) == 0 {
		return nil
	}
	var passing error
	refused := false
	err := run(ctx, tx, func() error {
		routing, err := db.routing.current(ctx, tx)
		if err != nil || len(routing.Destinations)+len(routing.Silences) == 0 {
			return err
		}
		if len(routing.Destinations) > 0 {
			if c, err = db.recordStorm(ctx, tx, c); err != nil {
				return err
			}
		}
		var incidents []routedIncident
		if ids := slices.Concat(c.changed, slices.Collect(maps.Values(c.incidentOf))); len(ids) > 0 {
			if incidents, err = db.readRoutedIncidents(ctx, tx, `i.id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids)); err != nil {
				return err
			}
		}
		if routing, err = endSilences(ctx, tx, routing, c, incidents); err != nil {
			return err
		}
		if err := resolveStorms(ctx, tx, c, incidents); err != nil {
			return err
		}
		storms, err := db.stormsOf(ctx, tx, incidents)
		if err != nil {
			return err
		}
		batch := deliveryBatch{routing: routing, openStorms: storms}
		batch.addEvents(c, incidents)
		for _, i := range incidents {
			if slices.Contains(c.changed, i.ID) {
				batch.addThreads(i, c.now)
			}
		}
		return batch.store(ctx, tx)
	}, func(err error) {
		if isPassing(err) {
			passing = fmt.Errorf("store what is to be delivered to destinations: %w", err)
			return
		}
		refused = true
		db.log.Error("what is to be delivered to destinations could not be stored and is left out, the event itself is stored: report the defect with error",
			"monitor_ids", c.monitorIDs(), "events", len(c.events), "incidents", len(c.changed), "error", err.Error())
	})
	if err == nil && refused && len(c.events) > 0 {
		err = noteMissed(ctx, tx, c.events)
	}
	return cmp.Or(err, passing)
}

// monitorIDs returns the IDs of the monitors that the events belong to.
func (c routableChanges) monitorIDs() (ids []string) {
	for _, e := range c.events {
		if id := string(e.monitor.id); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// endSilences ends the silences that last until an incident has recovered, and returns the
// routing without them. Those of a monitor that has ended end with it, or with its incident.
// It locks the version of the routing before the silences, as every change of the routing does.
func endSilences(ctx context.Context, tx *sqlx.Tx, routing notify.Routing, c routableChanges, incidents []routedIncident) (notify.Routing, error) {
	var ended []string
	for _, silence := range routing.Silences {
		if !silence.UntilRecovered || !silence.Active(c.now) {
			continue
		}
		if slices.ContainsFunc(incidents, func(i routedIncident) bool {
			return i.State == incident.Resolved && slices.Contains(c.changed, i.ID) && silence.Match.Matches(i.subject())
		}) {
			ended = append(ended, silence.ID)
		} else if of := silence.Match.Monitors; len(of) == 1 && slices.Contains(c.ended, of[0]) {
			var isOpen bool
			err := tx.GetContext(ctx, &isOpen, `SELECT EXISTS (SELECT FROM incidents WHERE monitor_id = $1 AND state = 'open')`, of[0])
			if err != nil {
				return routing, err
			}
			if !isOpen {
				ended = append(ended, silence.ID)
			}
		}
	}
	if len(ended) == 0 {
		return routing, nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE routing_version SET version = version + 1`); err != nil {
		return routing, err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE silences SET ended_at = now(), updated_at = now() WHERE id = ANY (CAST($1 AS uuid[])) AND ended_at IS NULL`,
		pq.Array(ended)); err != nil {
		return routing, err
	}
	routing.Silences = slices.DeleteFunc(slices.Clone(routing.Silences), func(s notify.Silence) bool { return slices.Contains(ended, s.ID) })
	return routing, nil
}

// deliveriesChannel is the channel that every transaction with a new pending delivery
// notifies. It is named like the table.
const deliveriesChannel = "deliveries"

// wakeDestinations wakes the dispatchers of destinations of all gateways when the
// transaction is committed.
func wakeDestinations(ctx context.Context, tx *sqlx.Tx) error {
	_, err := tx.ExecContext(ctx, `NOTIFY `+deliveriesChannel)
	return err
}
