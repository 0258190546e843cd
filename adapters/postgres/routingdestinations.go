package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const (
	// selectDestinations leaves out those that are deleted, and a pause that is over at a destination
	// that has not failed. More conditions follow after AND.
	selectDestinations = `SELECT ` + destinationColumns + ` FROM destinations WHERE deleted_at IS NULL`
	destinationColumns = `
		id, name, kind, language, config, secrets, previous_until, fallback, enabled, disabled_reason, owner,
		failures, failing_since, CASE WHEN failures > 0 OR circuit_open_until > now() THEN circuit_open_until END AS circuit_open_until, last_error, delivered_at, created_at, updated_at`

	// askedID is an id that a caller asks for. It is NULL, which no id equals, if it is no UUID.
	askedID = `CAST(substring($1 FROM '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$') AS uuid)`
	whereID = ` WHERE id = ` + askedID
)

type destinationRow struct {
	ID               string         `db:"id"`
	Name             string         `db:"name"`
	Kind             string         `db:"kind"`
	Language         string         `db:"language"`
	Config           []byte         `db:"config"`
	Secrets          []byte         `db:"secrets"`
	PreviousUntil    sql.NullTime   `db:"previous_until"`
	Fallback         sql.NullString `db:"fallback"`
	Enabled          bool           `db:"enabled"`
	DisabledReason   string         `db:"disabled_reason"`
	Owner            string         `db:"owner"`
	Failures         int            `db:"failures"`
	FailingSince     sql.NullTime   `db:"failing_since"`
	CircuitOpenUntil sql.NullTime   `db:"circuit_open_until"`
	LastError        string         `db:"last_error"`
	DeliveredAt      sql.NullTime   `db:"delivered_at"`
	CreatedAt        time.Time      `db:"created_at"`
	UpdatedAt        time.Time      `db:"updated_at"`
}

func (r destinationRow) toRecord(secrets Secrets) (routing.DestinationRecord, error) {
	d := routing.DestinationRecord{
		Destination: notify.Destination{
			ID:             r.ID,
			Name:           r.Name,
			Kind:           notify.Kind(r.Kind),
			Language:       notify.Language(r.Language),
			Fallback:       r.Fallback.String,
			Enabled:        r.Enabled,
			DisabledReason: r.DisabledReason,
			PreviousUntil:  timeOrZero(r.PreviousUntil),
			Owner:          r.Owner,
		},
		Health:      r.health(),
		LastError:   r.LastError,
		DeliveredAt: timeOrZero(r.DeliveredAt),
		CreatedAt:   r.CreatedAt.UTC(),
		UpdatedAt:   r.UpdatedAt.UTC(),
	}
	if err := json.Unmarshal(r.Config, &d.Config); err != nil {
		return d, fmt.Errorf("config of destination %s: %w", r.ID, err)
	}
	if len(r.Secrets) == 0 {
		return d, nil
	}
	text, _, err := secrets.Open(r.Secrets, r.ID)
	if err == nil {
		err = json.Unmarshal(text, &d.Secrets)
	}
	if err != nil {
		d.Secrets, d.SecretsLost, d.SecretsError = nil, true, err.Error()
	}
	return d, nil
}

// DestinationStore keeps destinations, and encrypts their secrets (section 19.1).
type DestinationStore struct {
	db      *database
	secrets Secrets
}

// Destinations implements routing.Store.
func (s *DestinationStore) Destinations(ctx context.Context) ([]routing.DestinationRecord, error) {
	var rows []destinationRow
	if err := s.db.SelectContext(ctx, &rows, selectDestinations+` ORDER BY name, id`); err != nil {
		return nil, wrapError(ctx, "list destinations", err)
	}
	records := make([]routing.DestinationRecord, 0, len(rows))
	for _, r := range rows {
		d, err := r.toRecord(s.secrets)
		if err != nil {
			logUnreadable(s.db.log, "destinations", r.ID, err)
			continue
		}
		records = append(records, d)
	}
	return records, nil
}

// Destination implements routing.Store.
func (s *DestinationStore) Destination(ctx context.Context, id string) (routing.DestinationRecord, error) {
	row, err := readDestination(ctx, s.db, id, "")
	if err != nil {
		return routing.DestinationRecord{}, wrapError(ctx, "read destination "+id, err)
	}
	return row.toRecord(s.secrets)
}

// readDestination reads a row. lock is "" or " FOR NO KEY UPDATE".
func readDestination(ctx context.Context, q sqlx.QueryerContext, id, lock string) (destinationRow, error) {
	var row destinationRow
	err := sqlx.GetContext(ctx, q, &row, selectDestinations+` AND id = `+askedID+lock, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = monitor.Errorf(routing.DestinationNotFound, "no destination has the id %.60q", id)
	}
	return row, err
}

// CreateDestination implements routing.Store.
func (s *DestinationStore) CreateDestination(ctx context.Context, d notify.Destination) (routing.DestinationRecord, error) {
	var created routing.DestinationRecord
	err := s.db.changeRouting(ctx, "create destination "+d.ID, func(tx *sqlx.Tx) error {
		sealed, err := s.seal(d)
		if err != nil {
			return err
		}
		if err := storeDestination(ctx, tx, d, sealed, `
			INSERT INTO destinations (id, name, kind, language, config, secrets, previous_until, fallback, enabled, disabled_reason, owner)
			VALUES ($1, $2, $3, $4, CAST($5 AS jsonb), $6, $7, $8, $9, $10, $11)
			ON CONFLICT (id) DO NOTHING`); err != nil {
			return err
		}
		if err := requireRoom(ctx, tx, `SELECT count(*) FROM destinations WHERE deleted_at IS NULL`, routing.MaxDestinations, "destinations"); err != nil {
			return err
		}
		row, err := readDestination(ctx, tx, d.ID, "")
		if err != nil {
			return err
		}
		created, err = row.toRecord(s.secrets)
		return err
	})
	return created, err
}

// ChangeDestination implements routing.Store.
func (s *DestinationStore) ChangeDestination(ctx context.Context, id string, change func(*notify.Destination) error) (routing.DestinationRecord, error) {
	var changed routing.DestinationRecord
	err := s.db.changeRouting(ctx, "change destination "+id, func(tx *sqlx.Tx) error {
		row, err := readDestination(ctx, tx, id, " FOR NO KEY UPDATE")
		if err != nil {
			return err
		}
		before, err := row.toRecord(s.secrets)
		if err != nil {
			return err
		}
		after := before.Destination
		after.Config, after.Secrets = maps.Clone(before.Config), maps.Clone(before.Secrets)
		if err := change(&after); err != nil {
			return err
		}
		after.ID = row.ID
		sealed := row.Secrets
		if before.SecretsError == "" || len(after.Secrets) > 0 { // else another key may still open them
			if sealed, err = s.seal(after); err != nil {
				return err
			}
		}
		if err := storeDestination(ctx, tx, after, sealed, `
			UPDATE destinations SET
				name = $2, kind = $3, language = $4, config = CAST($5 AS jsonb), secrets = $6, previous_until = $7,
				fallback = $8, enabled = $9, disabled_reason = $10, owner = $11, updated_at = now()
			WHERE id = $1`); err != nil {
			return err
		}
		if before.Enabled != after.Enabled || !maps.Equal(before.Config, after.Config) || !maps.Equal(before.Secrets, after.Secrets) {
			if _, err := tx.ExecContext(ctx, `UPDATE destinations SET failures = 0, failing_since = NULL, circuit_open_until = NULL WHERE id = $1`, row.ID); err != nil {
				return err
			}
		}
		if row, err = readDestination(ctx, tx, row.ID, ""); err != nil {
			return err
		}
		changed, err = row.toRecord(s.secrets)
		return err
	})
	return changed, err
}

// seal encrypts the secrets of a destination; nil: it has none.
func (s *DestinationStore) seal(d notify.Destination) ([]byte, error) {
	if len(d.Secrets) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(d.Secrets)
	if err != nil {
		return nil, err
	}
	return s.secrets.Seal(text, d.ID)
}

// storeDestination runs the statement that inserts or updates a destination.
func storeDestination(ctx context.Context, tx *sqlx.Tx, d notify.Destination, sealed []byte, statement string) error {
	if d.Config == nil {
		d.Config = map[string]string{}
	}
	if d.Enabled {
		d.DisabledReason = ""
	}
	config, err := json.Marshal(d.Config)
	if err != nil {
		return err
	}
	var deleted bool
	if err := tx.GetContext(ctx, &deleted, `SELECT EXISTS (SELECT FROM destinations`+whereID+` AND deleted_at IS NOT NULL)`, strings.ToLower(d.Fallback)); err != nil {
		return asInvalidConfig("fallback", err)
	}
	if deleted {
		return unknownFallback(d.Fallback)
	}
	_, err = tx.ExecContext(ctx, statement, d.ID, d.Name, d.Kind, d.Language, string(config), sealed, nullTime(d.PreviousUntil),
		nullText([]byte(d.Fallback)), d.Enabled, d.DisabledReason, d.Owner)
	switch {
	case pq.As(err, pqerror.UniqueViolation) != nil:
		return monitor.NameTakenf("another destination has the name %q", d.Name)
	case pq.As(err, pqerror.ForeignKeyViolation, pqerror.InvalidTextRepresentation) != nil && d.Fallback != "":
		return unknownFallback(d.Fallback)
	}
	return asInvalidConfig("the destination", err)
}

func unknownFallback(id string) error {
	return monitor.Errorf(monitor.InvalidConfig, "fallback is %.60q, but no destination has that id", id)
}

// requireRoom refuses a row that was inserted beyond the maximum.
func requireRoom(ctx context.Context, tx *sqlx.Tx, count string, maximum int, what string) error {
	var stored int
	if err := tx.GetContext(ctx, &stored, count); err != nil {
		return err
	}
	if stored > maximum {
		return monitor.Errorf(monitor.InvalidConfig, "there are %d %s, which is the maximum; delete one first", maximum, what)
	}
	return nil
}

// DeleteDestination implements routing.Store. It only marks the destination:
// deleting many deliveries at once would hold up the reports that store others.
// PurgeDestinations deletes them.
func (s *DestinationStore) DeleteDestination(ctx context.Context, id string) error {
	return s.db.changeRouting(ctx, "delete destination "+id, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, `
			WITH deleted AS (
				UPDATE destinations SET enabled = false, secrets = NULL, deleted_at = now(), updated_at = now()
				`+whereID+` AND deleted_at IS NULL RETURNING id),
			without AS (
				UPDATE destinations d SET fallback = NULL FROM deleted WHERE d.fallback = deleted.id AND d.id <> deleted.id),
			without_destination AS (
				UPDATE duty SET updated_at = now(), people = (
					SELECT jsonb_agg(CASE WHEN p ->> 'destination_id' = CAST(deleted.id AS text) THEN jsonb_set(p, '{destination_id}', '""') ELSE p END ORDER BY n)
					FROM jsonb_array_elements(people) WITH ORDINALITY AS x (p, n))
				FROM deleted WHERE people <> '[]')
			UPDATE routes SET destinations = array_remove(destinations, deleted.id), updated_at = now()
			FROM deleted WHERE deleted.id = ANY (routes.destinations)`, id)
		return err
	})
}

type trafficRow struct {
	ID        string `db:"destination_id"`
	Hour      int    `db:"hour"` // before the present one
	Delivered int    `db:"delivered"`
	Failed    int    `db:"failed"`
}

// attemptsLastDay reads the attempts of the present hour and of the 23 before it. It reads none of a later hour, which
// there may be if the clock was set back.
const attemptsLastDay = `
	SELECT destination_id, CAST(EXTRACT(EPOCH FROM date_trunc('hour', now(), 'UTC') - hour) / 3600 AS int) AS hour, delivered, failed
	FROM destination_hours WHERE hour > now() - interval '24 hours' AND hour <= now()`

// Traffic implements routing.Store. A thread that waits for an escalation is
// not pending.
func (s *DestinationStore) Traffic(ctx context.Context) (map[string]routing.Traffic, error) {
	var pending []struct {
		ID    string `db:"destination_id"`
		Count int    `db:"count"`
	}
	var attempts []trafficRow
	err := s.db.SelectContext(ctx, &pending, `
		SELECT destination_id, count(*) FROM deliveries WHERE state = 'pending' AND (tried > 0 OR due_at <= now()) GROUP BY 1`)
	if err == nil {
		err = s.db.SelectContext(ctx, &attempts, attemptsLastDay)
	}
	if err != nil {
		return nil, wrapError(ctx, "count deliveries", err)
	}
	traffic := map[string]routing.Traffic{}
	for _, p := range pending {
		traffic[p.ID] = routing.Traffic{Pending: p.Count}
	}
	for _, a := range attempts {
		t := traffic[a.ID]
		if hour := len(t.Delivered) - 1 - a.Hour; hour >= 0 {
			t.Delivered[hour], t.Failed[hour] = a.Delivered, a.Failed
		}
		traffic[a.ID] = t
	}
	return traffic, nil
}
