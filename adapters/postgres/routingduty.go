package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// DutyStore keeps who is on duty (section 19.10).
type DutyStore struct{ db *database }

// Duty implements routing.Store.
func (s *DutyStore) Duty(ctx context.Context) (notify.Duty, error) {
	d, err := readDuty(ctx, s.db, "")
	return d, wrapError(ctx, "read who is on duty", err)
}

// ChangeDuty implements routing.Store.
func (s *DutyStore) ChangeDuty(ctx context.Context, change func(d *notify.Duty, now time.Time) error) (changed notify.Duty, err error) {
	err = s.db.changeRouting(ctx, "change who is on duty", func(tx *sqlx.Tx) error {
		d, err := readDuty(ctx, tx, " FOR UPDATE")
		if err != nil {
			return err
		}
		var now time.Time
		if err := tx.GetContext(ctx, &now, `SELECT clock_timestamp()`); err != nil {
			return err
		}
		if err := change(&d, now.UTC()); err != nil {
			return err
		}
		var ids []string
		for _, p := range d.People {
			if p.DestinationID != "" {
				ids = append(ids, p.DestinationID)
			}
		}
		if err := requireDestinations(ctx, tx, "people", ids); err != nil {
			return err
		}
		people, err := json.Marshal(append([]notify.Person{}, d.People...))
		if err != nil {
			return err
		}
		overrides, err := json.Marshal(append([]notify.Override{}, d.Overrides...))
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `
			UPDATE duty SET people = CAST($1 AS jsonb), overrides = CAST($2 AS jsonb), owner = $3, updated_at = now()`, string(people), string(overrides), d.Owner); err != nil {
			return asInvalidConfig("the duty", err)
		}
		changed, err = readDuty(ctx, tx, "")
		return err
	})
	return changed, err
}

// readDuty reads who is on duty. lock is "" or " FOR UPDATE".
func readDuty(ctx context.Context, q sqlx.QueryerContext, lock string) (d notify.Duty, err error) {
	var row struct {
		People    []byte `db:"people"`
		Overrides []byte `db:"overrides"`
		Owner     string `db:"owner"`
	}
	if err := sqlx.GetContext(ctx, q, &row, `SELECT people, overrides, owner FROM duty`+lock); err != nil {
		return d, err
	}
	d.Owner = row.Owner
	if err := json.Unmarshal(row.People, &d.People); err != nil {
		return d, err
	}
	for _, p := range d.People {
		notify.LoadZones(p.Windows, time.LoadLocation) // routingCache logs a zone that is unknown here; its window is never open
	}
	return d, json.Unmarshal(row.Overrides, &d.Overrides)
}
