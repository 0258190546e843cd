package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const (
	selectSilences = `
		SELECT id, match, starts_at, ends_at, until_recovered, repeats, skip_until, by, comment, owner,
		       COALESCE(ended_at, CASE WHEN ends_at <= now() THEN ends_at END) AS ended_at
		FROM silences`
	silenceLasts = `ended_at IS NULL AND (ends_at IS NULL OR ends_at > now())`
)

type silenceRow struct {
	ID             string       `db:"id"`
	Match          []byte       `db:"match"`
	StartsAt       time.Time    `db:"starts_at"`
	EndsAt         sql.NullTime `db:"ends_at"`
	UntilRecovered bool         `db:"until_recovered"`
	Repeats        []byte       `db:"repeats"`
	SkipUntil      sql.NullTime `db:"skip_until"`
	By             string       `db:"by"`
	Comment        string       `db:"comment"`
	Owner          string       `db:"owner"`
	EndedAt        sql.NullTime `db:"ended_at"`
}

func (r silenceRow) toSilence() (notify.Silence, error) {
	silence := notify.Silence{
		ID:             r.ID,
		StartsAt:       r.StartsAt.UTC(),
		EndsAt:         timeOrZero(r.EndsAt),
		CreatedBy:      r.By,
		Comment:        r.Comment,
		UntilRecovered: r.UntilRecovered,
		SkipUntil:      timeOrZero(r.SkipUntil),
		Owner:          r.Owner,
		EndedAt:        timeOrZero(r.EndedAt),
	}
	if err := json.Unmarshal(r.Match, &silence.Match); err != nil {
		return silence, fmt.Errorf("match of silence %s: %w", r.ID, err)
	}
	if r.Repeats != nil {
		if err := json.Unmarshal(r.Repeats, &silence.Window); err != nil {
			return silence, fmt.Errorf("window of silence %s: %w", r.ID, err)
		}
		_ = silence.Window.LoadZone(time.LoadLocation) // routingCache logs a zone that is unknown here; its window is never open
	}
	return silence, nil
}

// SilenceStore keeps the silences of messages (section 19.6).
type SilenceStore struct{ db *database }

// Silences implements routing.Store.
func (s *SilenceStore) Silences(ctx context.Context) ([]notify.Silence, error) {
	var rows []silenceRow
	if err := s.db.SelectContext(ctx, &rows, `
		(`+selectSilences+` WHERE `+silenceLasts+`)
		UNION ALL
		(`+selectSilences+` WHERE NOT (`+silenceLasts+`) ORDER BY id DESC LIMIT $1)
		ORDER BY id DESC`, routing.MaxEndedSilences); err != nil {
		return nil, wrapError(ctx, "list silences", err)
	}
	records := make([]notify.Silence, 0, len(rows))
	for _, r := range rows {
		record, err := r.toSilence()
		if err != nil {
			logUnreadable(s.db.log, "silences", r.ID, err)
			continue
		}
		records = append(records, record)
	}
	return records, nil
}

// Silence implements routing.Store.
func (s *SilenceStore) Silence(ctx context.Context, id string) (notify.Silence, error) {
	record, err := readSilence(ctx, s.db, id, "")
	return record, wrapError(ctx, "read silence "+id, err)
}

// readSilence reads a silence. lock is "" or " FOR UPDATE".
func readSilence(ctx context.Context, q sqlx.QueryerContext, id, lock string) (notify.Silence, error) {
	row, err := readSilenceRow(ctx, q, id, lock)
	if err != nil {
		return notify.Silence{}, err
	}
	return row.toSilence()
}

func readSilenceRow(ctx context.Context, q sqlx.QueryerContext, id, lock string) (silenceRow, error) {
	var row silenceRow
	err := sqlx.GetContext(ctx, q, &row, selectSilences+whereID+lock, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = monitor.Errorf(routing.SilenceNotFound, "no silence has the id %.60q", id)
	}
	return row, err
}

// CurrentTime implements routing.Store.
func (s *SilenceStore) CurrentTime(ctx context.Context) (now time.Time, err error) {
	return now, wrapError(ctx, "read the time", s.db.GetContext(ctx, &now, `SELECT now()`))
}

// CreateSilence implements routing.Store.
func (s *SilenceStore) CreateSilence(ctx context.Context, silence notify.Silence) (notify.Silence, error) {
	var created notify.Silence
	err := s.db.changeRouting(ctx, "create silence "+silence.ID, func(tx *sqlx.Tx) error {
		if err := storeSilence(ctx, tx, silence, `
			INSERT INTO silences (id, match, starts_at, ends_at, until_recovered, repeats, by, comment, owner, skip_until)
			VALUES ($1, CAST($2 AS jsonb), $3, $4, $5, CAST($6 AS jsonb), $7, $8, $9, $10)
			ON CONFLICT (id) DO NOTHING`); err != nil {
			return err
		}
		if err := requireRoom(ctx, tx, `SELECT count(*) FROM silences WHERE `+silenceLasts, routing.MaxSilences, "silences"); err != nil {
			return err
		}
		var err error
		created, err = readSilence(ctx, tx, silence.ID, "")
		return err
	})
	return created, err
}

// ChangeSilence implements routing.Store.
func (s *SilenceStore) ChangeSilence(ctx context.Context, id string, change func(*notify.Silence) error) (notify.Silence, error) {
	var changed notify.Silence
	err := s.db.changeRouting(ctx, "change silence "+id, func(tx *sqlx.Tx) error {
		before, err := readSilence(ctx, tx, id, " FOR UPDATE")
		if err != nil {
			return err
		}
		if !before.EndedAt.IsZero() {
			return monitor.Errorf(monitor.InvalidConfig, "the silence ended at %s and cannot be changed; create another", before.EndedAt.Format(time.RFC3339))
		}
		after := before
		if err := change(&after); err != nil {
			return err
		}
		after.ID = before.ID
		if err := storeSilence(ctx, tx, after, `
			UPDATE silences SET
				match = CAST($2 AS jsonb), starts_at = $3, ends_at = $4, until_recovered = $5, repeats = CAST($6 AS jsonb),
				by = $7, comment = $8, owner = $9, skip_until = $10, updated_at = now()
			WHERE id = $1`); err != nil {
			return err
		}
		changed, err = readSilence(ctx, tx, before.ID, "")
		return err
	})
	return changed, err
}

// storeSilence runs the statement that inserts or updates a silence.
func storeSilence(ctx context.Context, tx *sqlx.Tx, s notify.Silence, statement string) error {
	match, err := json.Marshal(s.Match)
	if err != nil {
		return err
	}
	var window []byte
	if s.Window != nil {
		if window, err = json.Marshal(s.Window); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, statement, s.ID, string(match), s.StartsAt.UTC(), nullTime(s.EndsAt), s.UntilRecovered, nullText(window), s.CreatedBy, s.Comment, s.Owner, nullTime(s.SkipUntil))
	return asInvalidConfig("the silence", err)
}

// EndSilence implements routing.Store.
func (s *SilenceStore) EndSilence(ctx context.Context, id string) (notify.Silence, error) {
	var ended notify.Silence
	err := s.db.changeRouting(ctx, "end silence "+id, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE silences SET ended_at = now(), updated_at = now()`+whereID+` AND `+silenceLasts, id); err != nil {
			return err
		}
		row, err := readSilenceRow(ctx, tx, id, "")
		if err != nil {
			return err
		}
		var unreadable error
		if ended, unreadable = row.toSilence(); unreadable != nil { // it must be possible to end it
			logUnreadable(s.db.log, "silences", row.ID, unreadable)
		}
		return nil
	})
	return ended, err
}
