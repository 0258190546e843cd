package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// routingCache reads the routing, and keeps what it has read last.
type routingCache struct {
	secrets Secrets
	log     *slog.Logger
	cached  atomic.Pointer[notify.Routing] // nil: none was read yet
}

// current returns the routing of the transaction: of its version, or of a newer one. It
// reads one number, and the tables only if another gateway or request has changed them.
// The caller must not change the result.
func (c *routingCache) current(ctx context.Context, tx sqlx.QueryerContext) (notify.Routing, error) {
	var version int64
	if err := sqlx.GetContext(ctx, tx, &version, `SELECT version FROM routing_version`); err != nil {
		return notify.Routing{}, fmt.Errorf("read the version of the routing: %w", err)
	}
	return c.of(ctx, tx, version)
}

// of returns the routing of a version, or of a newer one.
func (c *routingCache) of(ctx context.Context, tx sqlx.QueryerContext, version int64) (notify.Routing, error) {
	if cached := c.cached.Load(); cached != nil && cached.Version == version {
		return *cached, nil
	}
	// A change that is committed after version was read has a higher version, so the cache
	// is then read again.
	r, err := c.read(ctx, tx)
	if err != nil {
		return notify.Routing{}, err
	}
	r.Version = version
	c.cached.Store(&r)
	return r, nil
}

// Routing implements routing.RoutingReader.
func (s *SubjectStore) Routing(ctx context.Context) (notify.Routing, error) {
	r, err := s.db.routing.current(ctx, s.db)
	return r, wrapError(ctx, "read the routing", err)
}

// markUntold sets Untold of a monitor that was read.
func (c *routingCache) markUntold(ctx context.Context, tx sqlx.QueryerContext, m *monitor.Monitor) error {
	if m.CallbackURL != "" || !m.Status.Active() {
		return nil
	}
	routing, err := c.current(ctx, tx)
	m.Untold = err == nil && !routing.TellsOf(m.ID, m.Labels, m.Metadata)
	return err
}

// read reads the routing as the transaction sees it, without its version. A row that this
// gateway cannot read is logged and left out: it must not keep an event from being stored.
func (c *routingCache) read(ctx context.Context, tx sqlx.QueryerContext) (notify.Routing, error) {
	r := notify.Routing{Destinations: map[string]notify.Destination{}}
	var destinations []destinationRow
	if err := sqlx.SelectContext(ctx, tx, &destinations, selectDestinations); err != nil {
		return r, fmt.Errorf("read destinations: %w", err)
	}
	for _, row := range destinations {
		d, err := row.toRecord(c.secrets)
		if err != nil {
			logUnreadable(c.log, "destinations", row.ID, err)
			continue
		}
		if d.SecretsError != "" {
			logLostSecrets(c.log, sealedRow{ID: row.ID, Name: row.Name}, d.SecretsError)
		}
		r.Destinations[row.ID] = d.Destination
	}
	var routes []routeRow
	if err := sqlx.SelectContext(ctx, tx, &routes, selectRoutes+orderOfRoutes); err != nil {
		return r, fmt.Errorf("read routes: %w", err)
	}
	for _, row := range routes {
		route, err := row.toRoute()
		if err != nil {
			logUnreadable(c.log, "routes", row.ID, err)
			continue
		}
		c.logZones("routes", row.ID, route.Windows...)
		r.Routes = append(r.Routes, route)
	}
	var silences []silenceRow
	if err := sqlx.SelectContext(ctx, tx, &silences, selectSilences+` WHERE `+silenceLasts); err != nil {
		return r, fmt.Errorf("read silences: %w", err)
	}
	for _, row := range silences {
		silence, err := row.toSilence()
		if err != nil {
			logUnreadable(c.log, "silences", row.ID, err)
			continue
		}
		if silence.Window != nil {
			c.logZones("silences", row.ID, *silence.Window)
		}
		r.Silences = append(r.Silences, silence)
	}
	var err error
	if r.Duty, err = readDuty(ctx, tx, ""); err != nil {
		return r, fmt.Errorf("read who is on duty: %w", err)
	}
	for _, p := range r.Duty.People {
		c.logZones("duty", p.Name, p.Windows...)
	}
	return r, nil
}

// logZones logs the windows whose zones are unknown here.
func (c *routingCache) logZones(table, id string, windows ...notify.Window) {
	for _, w := range windows {
		if w.Zone == nil {
			logUnreadable(c.log, table, id, w.LoadZone(time.LoadLocation))
		}
	}
}

func logUnreadable(log *slog.Logger, table, id string, err error) {
	log.Error("a destination, route, silence or window of duty cannot be read and has no effect: delete it and create it again", "table", table, "id", id, "error", err)
}

// showWithoutCallback shows the monitors without a callback anew: nobody may be told of them any more, or somebody again.
func showWithoutCallback(ctx context.Context, tx *sqlx.Tx) error {
	var ids []monitor.ID
	if err := tx.SelectContext(ctx, &ids, `SELECT id FROM monitors WHERE callback_url = '' AND `+activePredicate); err != nil {
		return err
	}
	changes := make([]feedChange, 0, len(ids))
	for _, id := range ids {
		changes = append(changes, monitorChange(id))
	}
	return addToFeed(ctx, tx, changes...)
}

// changeRouting runs a change of destinations, routes, silences or duty, gives the routing a new
// version, and wakes the dispatchers, which route all open incidents anew. Changes take place
// one after the other: the version's row is locked first.
func (db *database) changeRouting(ctx context.Context, operation string, change func(*sqlx.Tx) error) error {
	return db.inTx(ctx, operation, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE routing_version SET version = version + 1`); err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		if err := showWithoutCallback(ctx, tx); err != nil {
			return err
		}
		return wakeDispatchers(ctx, tx)
	})
}
