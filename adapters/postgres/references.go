package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ReferenceStore keeps the pictures that detectors look for.
type ReferenceStore struct{ db *database }

// ownerRow is the row that references belong to.
type ownerRow struct {
	table, id string
	column    string // of reference_images: it has id
	missing   error
}

func rowOf(o references.Owner) ownerRow {
	if o.Channel != "" {
		return ownerRow{"channels", o.Channel, "channel_id", channelNotFound(o.Channel)}
	}
	return ownerRow{"monitors", string(o.Monitor), "monitor_id", monitorNotFound(o.Monitor)}
}

// ListReferences implements references.Store.
func (s *ReferenceStore) ListReferences(ctx context.Context, o references.Owner) ([]references.Record, error) {
	list, row := []references.Record{}, rowOf(o)
	err := s.db.SelectContext(ctx, &list, `
		SELECT id, name, unwanted, similarity, media_type, width, height, octet_length(image) AS size, created_at
		FROM reference_images WHERE `+row.column+` = $1 ORDER BY created_at, id`, row.id)
	if err == nil && len(list) == 0 {
		err = s.require(ctx, row)
	}
	return list, wrapError(ctx, "list the references of "+o.String(), err)
}

// References implements intake.ReportStore.
func (s *ReferenceStore) References(ctx context.Context, id monitor.ID) (own, ofChannel []detector.Reference, err error) {
	var rows []struct {
		detector.Reference

		Digests   []byte `db:"digests"`
		OfChannel bool   `db:"of_channel"`
	}
	err = s.db.SelectContext(ctx, &rows, `
		SELECT name, unwanted, similarity, digests, channel_id IS NOT NULL AS of_channel FROM reference_images
		WHERE monitor_id = $1 OR channel_id = (SELECT channel_id FROM monitors WHERE id = $1) ORDER BY created_at, id`, id)
	for _, r := range rows {
		err = errors.Join(err, json.Unmarshal(r.Digests, &r.Reference.Digests))
		if r.OfChannel {
			ofChannel = append(ofChannel, r.Reference)
		} else {
			own = append(own, r.Reference)
		}
	}
	return own, ofChannel, wrapError(ctx, "read the digests of the references of "+string(id), err)
}

// AddReference implements references.Store.
func (s *ReferenceStore) AddReference(ctx context.Context, o references.Owner, u references.Upload) error {
	digests, err := json.Marshal(u.Digests)
	if err != nil {
		return fmt.Errorf("digests of a reference: %w", err)
	}
	return s.change(ctx, "add a reference to "+o.String(), o, func(tx *sqlx.Tx, row ownerRow) error {
		var taken bool
		err := tx.GetContext(ctx, &taken, `SELECT EXISTS (SELECT FROM reference_images WHERE `+row.column+` = $1 AND name = $2 AND id <> $3)`, row.id, u.Name, u.ID)
		switch {
		case err != nil:
			return err
		case taken:
			return monitor.NameTakenf("name is %q, which another reference of %s has", u.Name, o)
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO reference_images (id, `+row.column+`, name, unwanted, similarity, media_type, width, height, digests, image, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CAST($9 AS jsonb), $10, $11)
			ON CONFLICT (id) DO NOTHING`,
			u.ID, row.id, u.Name, u.Unwanted, u.Similarity, u.MediaType, u.Width, u.Height, string(digests), u.Image, u.CreatedAt.UTC())
		if err != nil {
			return err
		}
		var count int
		err = tx.GetContext(ctx, &count, `SELECT count(*) FROM reference_images WHERE `+row.column+` = $1`, row.id)
		if err == nil && count > references.MaxReferences {
			err = monitor.Errorf(monitor.InvalidConfig, "%s has %d references, which is the maximum; remove one first", o, references.MaxReferences)
		}
		return err
	})
}

// RemoveReference implements references.Store.
func (s *ReferenceStore) RemoveReference(ctx context.Context, o references.Owner, reference string) error {
	return s.change(ctx, "remove a reference of "+o.String(), o, func(tx *sqlx.Tx, row ownerRow) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM reference_images WHERE `+row.column+` = $1 AND id = $2`, row.id, reference)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err == nil && n == 0 {
			err = noReference(o, reference)
		}
		return err
	})
}

// change changes the references of an owner that may still be changed. The workers of its active monitors learn of it by the
// next revision.
func (s *ReferenceStore) change(ctx context.Context, task string, o references.Owner, do func(*sqlx.Tx, ownerRow) error) error {
	return s.db.inTx(ctx, task, func(tx *sqlx.Tx) error {
		active, err := lockOwner(ctx, tx, o)
		if err != nil {
			return err
		}
		if err := do(tx, rowOf(o)); err != nil {
			return err
		}
		return addRevision(ctx, tx, active)
	})
}

// lockOwner locks an owner that may be changed, and its active monitors. No monitor is given to a channel that is locked: it
// sees the change afterwards.
func lockOwner(ctx context.Context, tx *sqlx.Tx, o references.Owner) (active []monitor.ID, err error) {
	if o.Channel != "" {
		c, err := readChannel(ctx, tx, o.Channel, ` FOR UPDATE OF c`)
		switch {
		case err != nil:
			return nil, err
		case !c.StoppedAt.IsZero():
			return nil, channels.StoppedAlready(o.Channel)
		}
		err = tx.SelectContext(ctx, &active, `SELECT id FROM monitors WHERE channel_id = $1 AND `+activePredicate+` ORDER BY id FOR UPDATE`, o.Channel)
		return active, err
	}
	locked, err := lockMonitor(ctx, tx, o.Monitor)
	if err == nil && !locked.status.Active() {
		err = monitor.EndedAlready(o.Monitor, locked.status)
	}
	return []monitor.ID{o.Monitor}, err
}

// ReferenceImage implements references.Store.
func (s *ReferenceStore) ReferenceImage(ctx context.Context, o references.Owner, reference string) (mediaType string, image []byte, err error) {
	row := rowOf(o)
	err = s.db.QueryRowxContext(ctx, `SELECT media_type, image FROM reference_images WHERE `+row.column+` = $1 AND id = $2`, row.id, reference).Scan(&mediaType, &image)
	if errors.Is(err, sql.ErrNoRows) {
		if err = s.require(ctx, row); err == nil {
			err = noReference(o, reference)
		}
	}
	return mediaType, image, wrapError(ctx, "read a reference of "+o.String(), err)
}

// require returns an error if there is no such row.
func (s *ReferenceStore) require(ctx context.Context, row ownerRow) error {
	var exists bool
	err := s.db.GetContext(ctx, &exists, `SELECT EXISTS (SELECT FROM `+row.table+` WHERE id = $1)`, row.id)
	if err == nil && !exists {
		err = row.missing
	}
	return err
}

func noReference(o references.Owner, reference string) error {
	return monitor.Errorf(references.NotFound, "%s has no reference with the id %q", o, reference)
}
