package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const (
	selectRoutes = `
		SELECT id, name, match, windows, destinations, on_duty, delay_sec, repeat_sec, continues, is_default, owner FROM routes`
	orderOfRoutes = ` ORDER BY is_default, position, id`
)

type routeRow struct {
	ID           string         `db:"id"`
	Name         string         `db:"name"`
	Match        []byte         `db:"match"`
	Windows      []byte         `db:"windows"`
	Destinations pq.StringArray `db:"destinations"`
	OnDuty       bool           `db:"on_duty"`
	DelaySec     int64          `db:"delay_sec"`
	RepeatSec    int64          `db:"repeat_sec"`
	Continues    bool           `db:"continues"`
	IsDefault    bool           `db:"is_default"`
	Owner        string         `db:"owner"`
}

func (r routeRow) toRoute() (notify.Route, error) {
	route := notify.Route{
		ID:           r.ID,
		Name:         r.Name,
		Destinations: r.Destinations,
		OnDuty:       r.OnDuty,
		DelaySec:     r.DelaySec,
		RepeatSec:    r.RepeatSec,
		Continue:     r.Continues,
		Default:      r.IsDefault,
		Owner:        r.Owner,
	}
	if err := json.Unmarshal(r.Match, &route.Match); err != nil {
		return route, fmt.Errorf("match of route %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(r.Windows, &route.Windows); err != nil {
		return route, fmt.Errorf("windows of route %s: %w", r.ID, err)
	}
	notify.LoadZones(route.Windows, time.LoadLocation) // routingCache logs a zone that is unknown here; its window is never open
	return route, nil
}

// RouteStore keeps routes in their order (section 19.2).
type RouteStore struct{ db *database }

// Routes implements routing.Store.
func (s *RouteStore) Routes(ctx context.Context) ([]notify.Route, error) {
	records, err := s.readAll(ctx, s.db)
	return records, wrapError(ctx, "list routes", err)
}

// readAll reads the routes in their order. It logs and leaves out those that it cannot read.
func (s *RouteStore) readAll(ctx context.Context, q sqlx.QueryerContext) ([]notify.Route, error) {
	var rows []routeRow
	if err := sqlx.SelectContext(ctx, q, &rows, selectRoutes+orderOfRoutes); err != nil {
		return nil, err
	}
	records := make([]notify.Route, 0, len(rows))
	for _, r := range rows {
		record, err := r.toRoute()
		if err != nil {
			logUnreadable(s.db.log, "routes", r.ID, err)
			continue
		}
		records = append(records, record)
	}
	return records, nil
}

// Route implements routing.Store.
func (s *RouteStore) Route(ctx context.Context, id string) (notify.Route, error) {
	record, err := readRoute(ctx, s.db, id, "")
	return record, wrapError(ctx, "read route "+id, err)
}

// readRoute reads a route. lock is "" or " FOR UPDATE".
func readRoute(ctx context.Context, q sqlx.QueryerContext, id, lock string) (notify.Route, error) {
	var row routeRow
	err := sqlx.GetContext(ctx, q, &row, selectRoutes+whereID+lock, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = monitor.Errorf(routing.RouteNotFound, "no route has the id %.60q", id)
	}
	if err != nil {
		return notify.Route{}, err
	}
	return row.toRoute()
}

// CreateRoute implements routing.Store.
func (s *RouteStore) CreateRoute(ctx context.Context, r notify.Route) (notify.Route, error) {
	var created notify.Route
	err := s.db.changeRouting(ctx, "create route "+r.ID, func(tx *sqlx.Tx) error {
		if err := storeRoute(ctx, tx, r, `
			INSERT INTO routes (id, name, match, destinations, delay_sec, repeat_sec, continues, owner, windows, on_duty, position)
			SELECT $1, $2, CAST($3 AS jsonb), CAST($4 AS uuid[]), $5, $6, $7, $8, CAST($9 AS jsonb), $10, COALESCE(max(position), 0) + 1 FROM routes WHERE NOT is_default
			ON CONFLICT (id) DO NOTHING`); err != nil {
			return err
		}
		if err := requireRoom(ctx, tx, `SELECT count(*) FROM routes`, routing.MaxRoutes, "routes"); err != nil {
			return err
		}
		var err error
		created, err = readRoute(ctx, tx, r.ID, "")
		return err
	})
	return created, err
}

// ChangeRoute implements routing.Store.
func (s *RouteStore) ChangeRoute(ctx context.Context, id string, change func(*notify.Route) error) (notify.Route, error) {
	var changed notify.Route
	err := s.db.changeRouting(ctx, "change route "+id, func(tx *sqlx.Tx) error {
		before, err := readRoute(ctx, tx, id, " FOR UPDATE")
		if err != nil {
			return err
		}
		after := before
		if err := change(&after); err != nil {
			return err
		}
		after.ID = before.ID
		if err := storeRoute(ctx, tx, after, `
			UPDATE routes SET
				name = $2, match = CAST($3 AS jsonb), destinations = CAST($4 AS uuid[]), delay_sec = $5, repeat_sec = $6,
				continues = $7, owner = $8, windows = CAST($9 AS jsonb), on_duty = $10, updated_at = now()
			WHERE id = $1`); err != nil {
			return err
		}
		changed, err = readRoute(ctx, tx, before.ID, "")
		return err
	})
	return changed, err
}

// storeRoute runs the statement that inserts or updates a route.
func storeRoute(ctx context.Context, tx *sqlx.Tx, r notify.Route, statement string) error {
	if err := requireDestinations(ctx, tx, "destinations", r.Destinations); err != nil {
		return err
	}
	match, err := json.Marshal(r.Match)
	if err != nil {
		return err
	}
	windows, err := json.Marshal(append([]notify.Window{}, r.Windows...))
	if err != nil {
		return err
	}
	destinations := r.Destinations
	if destinations == nil {
		destinations = []string{}
	}
	_, err = tx.ExecContext(ctx, statement, r.ID, r.Name, string(match), pq.Array(destinations),
		r.DelaySec, r.RepeatSec, r.Continue, r.Owner, string(windows), r.OnDuty)
	if pq.As(err, pqerror.UniqueViolation) != nil {
		return monitor.NameTakenf("another route has the name %q", r.Name)
	}
	return asInvalidConfig("the route", err)
}

// requireDestinations refuses a field with the id of a destination that does not exist.
func requireDestinations(ctx context.Context, tx *sqlx.Tx, field string, ids []string) error {
	var unknown []string
	if err := tx.SelectContext(ctx, &unknown, `
		SELECT id FROM unnest(CAST($1 AS text[])) AS named (id)
		WHERE NOT EXISTS (SELECT 1 FROM destinations d WHERE CAST(d.id AS text) = named.id AND d.deleted_at IS NULL)`, pq.Array(ids)); err != nil {
		return asInvalidConfig(field, err)
	}
	if len(unknown) > 0 {
		return monitor.Errorf(monitor.InvalidConfig, "%s has %.60q, but no destination has that id", field, unknown[0])
	}
	return nil
}

// DeleteRoute implements routing.Store.
func (s *RouteStore) DeleteRoute(ctx context.Context, id string) error {
	return s.db.changeRouting(ctx, "delete route "+id, func(tx *sqlx.Tx) error {
		var isDefault []bool
		if err := tx.SelectContext(ctx, &isDefault, `SELECT is_default FROM routes`+whereID, id); err != nil {
			return err
		}
		if slices.Contains(isDefault, true) {
			return monitor.Errorf(monitor.InvalidConfig, "the default route cannot be deleted; remove its destinations instead")
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM routes`+whereID, id)
		return err
	})
}

// OrderRoutes implements routing.Store.
func (s *RouteStore) OrderRoutes(ctx context.Context, ids []string) ([]notify.Route, error) {
	var ordered []notify.Route
	err := s.db.changeRouting(ctx, "order routes", func(tx *sqlx.Tx) error {
		stored, err := s.readAll(ctx, tx)
		if err != nil {
			return err
		}
		if err := checkOrder(stored, ids); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `
			UPDATE routes SET position = wanted.position, updated_at = now()
			FROM unnest(CAST($1 AS uuid[])) WITH ORDINALITY AS wanted (id, position)
			WHERE routes.id = wanted.id AND routes.position <> wanted.position`, pq.Array(ids)); err != nil {
			return err
		}
		ordered, err = s.readAll(ctx, tx)
		return err
	})
	return ordered, err
}

// checkOrder refuses an order that does not name each route once, or has the default route.
func checkOrder(stored []notify.Route, ids []string) error {
	missing := map[string]string{}
	for _, r := range stored {
		if !r.Default {
			missing[r.ID] = r.Name
		}
	}
	for _, id := range ids {
		if _, known := missing[id]; !known {
			return monitor.Errorf(monitor.InvalidConfig, "routes has %.60q, which is no route's id, or there twice, or the default route's", id)
		}
		delete(missing, id)
	}
	for id, name := range missing {
		return monitor.Errorf(monitor.InvalidConfig, "routes lacks %s (%s); name every route except the default route", id, name)
	}
	return nil
}
