package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ReferenceStore keeps the pictures that detectors look for.
type ReferenceStore struct{ db *database }

// ListReferences implements references.Store.
func (s *ReferenceStore) ListReferences(ctx context.Context, id monitor.ID) ([]references.Record, error) {
	list := []references.Record{}
	err := s.db.SelectContext(ctx, &list, `
		SELECT id, name, unwanted, similarity, media_type, width, height, octet_length(image) AS size, created_at
		FROM monitor_references WHERE monitor_id = $1 ORDER BY created_at, id`, id)
	if err == nil && len(list) == 0 {
		err = s.requireMonitor(ctx, id)
	}
	return list, wrapError(ctx, "list the references of "+string(id), err)
}

// References implements intake.ReportStore.
func (s *ReferenceStore) References(ctx context.Context, id monitor.ID) ([]detector.Reference, error) {
	var rows []struct {
		detector.Reference

		Digests []byte `db:"digests"`
	}
	err := s.db.SelectContext(ctx, &rows, `
		SELECT name, unwanted, similarity, digests FROM monitor_references WHERE monitor_id = $1 ORDER BY created_at, id`, id)
	var list []detector.Reference
	for _, r := range rows {
		err = errors.Join(err, json.Unmarshal(r.Digests, &r.Reference.Digests))
		list = append(list, r.Reference)
	}
	return list, wrapError(ctx, "read the digests of the references of "+string(id), err)
}

// AddReference implements references.Store.
func (s *ReferenceStore) AddReference(ctx context.Context, id monitor.ID, u references.Upload) error {
	digests, err := json.Marshal(u.Digests)
	if err != nil {
		return fmt.Errorf("digests of a reference: %w", err)
	}
	return s.change(ctx, "add a reference to "+string(id), id, func(tx *sqlx.Tx) error {
		var taken bool
		err := tx.GetContext(ctx, &taken, `SELECT EXISTS (SELECT FROM monitor_references WHERE monitor_id = $1 AND name = $2 AND id <> $3)`, id, u.Name, u.ID)
		switch {
		case err != nil:
			return err
		case taken:
			return monitor.Errorf(references.NameTaken, "name is %q, which another reference of this monitor has", u.Name)
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO monitor_references (id, monitor_id, name, unwanted, similarity, media_type, width, height, digests, image, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CAST($9 AS jsonb), $10, $11)
			ON CONFLICT (id) DO NOTHING`,
			u.ID, id, u.Name, u.Unwanted, u.Similarity, u.MediaType, u.Width, u.Height, string(digests), u.Image, u.CreatedAt.UTC())
		if err != nil {
			return err
		}
		var count int
		err = tx.GetContext(ctx, &count, `SELECT count(*) FROM monitor_references WHERE monitor_id = $1`, id)
		if err == nil && count > references.MaxReferences {
			err = monitor.Errorf(monitor.InvalidConfig, "the monitor has %d references, which is the maximum; remove one first", references.MaxReferences)
		}
		return err
	})
}

// RemoveReference implements references.Store.
func (s *ReferenceStore) RemoveReference(ctx context.Context, id monitor.ID, reference string) error {
	return s.change(ctx, "remove a reference of "+string(id), id, func(tx *sqlx.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM monitor_references WHERE monitor_id = $1 AND id = $2`, id, reference)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err == nil && n == 0 {
			err = noReference(id, reference)
		}
		return err
	})
}

// change changes the references of an active monitor, whose worker learns of it by the next revision.
func (s *ReferenceStore) change(ctx context.Context, task string, id monitor.ID, do func(*sqlx.Tx) error) error {
	return s.db.inTx(ctx, task, func(tx *sqlx.Tx) error {
		locked, err := lockMonitor(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case !locked.status.Active():
			return monitor.EndedAlready(id, locked.status)
		}
		if err := do(tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE monitors SET revision = revision + 1, updated_at = now() WHERE id = $1`, id); err != nil {
			return err
		}
		return addToFeed(ctx, tx, monitorChange(id))
	})
}

// ReferenceImage implements references.Store.
func (s *ReferenceStore) ReferenceImage(ctx context.Context, id monitor.ID, reference string) (mediaType string, image []byte, err error) {
	err = s.db.QueryRowxContext(ctx, `SELECT media_type, image FROM monitor_references WHERE monitor_id = $1 AND id = $2`, id, reference).Scan(&mediaType, &image)
	if errors.Is(err, sql.ErrNoRows) {
		if err = s.requireMonitor(ctx, id); err == nil {
			err = noReference(id, reference)
		}
	}
	return mediaType, image, wrapError(ctx, "read a reference of "+string(id), err)
}

func (s *ReferenceStore) requireMonitor(ctx context.Context, id monitor.ID) error {
	var exists bool
	err := s.db.GetContext(ctx, &exists, `SELECT EXISTS (SELECT FROM monitors WHERE id = $1)`, id)
	if err == nil && !exists {
		err = monitorNotFound(id)
	}
	return err
}

func noReference(id monitor.ID, reference string) error {
	return monitor.Errorf(references.NotFound, "monitor %s has no reference with the id %q", id, reference)
}
