package postgres

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// thumbnailChannel is notified of every stored thumbnail, with its monitor and time.
const thumbnailChannel = "thumbnails"

// thumbnailWanted tells of a row of monitors whether a page shows it.
const thumbnailWanted = `EXISTS (SELECT FROM thumbnail_leases l WHERE l.monitor_id = monitors.id AND l.wanted_until > now())`

// ThumbnailStore keeps thumbnails, and the leases of pages that show them.
type ThumbnailStore struct{ db *database }

// LeaseThumbnails implements evidences.ThumbnailStore. A lease that was renewed within the
// last 5 s is not written again.
func (s *ThumbnailStore) LeaseThumbnails(ctx context.Context, ids []monitor.ID, d time.Duration) error {
	_, err := s.db.ExecContext(ctx, `
		INSERT INTO thumbnail_leases (monitor_id, wanted_until)
		SELECT id, now() + make_interval(secs => $2) FROM monitors WHERE id = ANY ($1) AND `+activePredicate+` ORDER BY id
		ON CONFLICT (monitor_id) DO UPDATE SET wanted_until = excluded.wanted_until
		WHERE thumbnail_leases.wanted_until < excluded.wanted_until - interval '5 seconds'`, pq.Array(ids), d.Seconds())
	return wrapError(ctx, "lease thumbnails", err)
}

// PutThumbnail implements evidences.ThumbnailStore. It takes no lock on the monitor, so that
// no report waits for it.
func (s *ThumbnailStore) PutThumbnail(ctx context.Context, t evidences.Thumbnail, generation int) (wanted bool, err error) {
	err = s.db.inTx(ctx, "store a thumbnail of "+string(t.MonitorID), func(tx *sqlx.Tx) error {
		m := lockedMonitor{id: t.MonitorID}
		err := tx.QueryRowxContext(ctx, `SELECT status, generation, `+thumbnailWanted+` FROM monitors WHERE id = $1`, t.MonitorID).
			Scan(&m.status, &m.generation, &wanted)
		if errors.Is(err, sql.ErrNoRows) {
			return monitorNotFound(t.MonitorID)
		}
		if err != nil {
			return err
		}
		if err := m.requireGeneration(generation); err != nil || !wanted {
			return err
		}
		taken := roundToMicroseconds(t.TakenAt.UTC())
		_, err = tx.ExecContext(ctx, `
			WITH stored AS (
				INSERT INTO thumbnails (monitor_id, taken_at, stored_at, jpeg) VALUES ($1, $2, now(), $3)
				ON CONFLICT (monitor_id) DO UPDATE SET taken_at = excluded.taken_at, stored_at = excluded.stored_at, jpeg = excluded.jpeg
				WHERE thumbnails.taken_at < excluded.taken_at
				RETURNING monitor_id)
			SELECT pg_notify('`+thumbnailChannel+`', $4) FROM stored`,
			t.MonitorID, taken, t.JPEG, string(t.MonitorID)+" "+taken.Format(time.RFC3339Nano))
		return err
	})
	return wanted && err == nil, err
}

// parseThumbnail reads what PutThumbnail has notified.
func parseThumbnail(payload string) (t feed.Thumbnail, ok bool) {
	id, taken, ok := strings.Cut(payload, " ")
	if !ok {
		return t, false
	}
	at, err := time.Parse(time.RFC3339Nano, taken)
	return feed.NewThumbnail(monitor.ID(id), at), err == nil
}

// GetThumbnail implements evidences.ThumbnailStore.
func (s *ThumbnailStore) GetThumbnail(ctx context.Context, id monitor.ID) (evidences.Thumbnail, error) {
	t := evidences.Thumbnail{MonitorID: id}
	err := s.db.QueryRowxContext(ctx, `SELECT taken_at, jpeg FROM thumbnails WHERE monitor_id = $1`, id).Scan(&t.TakenAt, &t.JPEG)
	if errors.Is(err, sql.ErrNoRows) {
		return t, monitor.Errorf(monitor.NotFound, "monitor %s has no thumbnail: a page asks for it with POST /api/v1/thumbnails/watch", id)
	}
	return t, wrapError(ctx, "read the thumbnail of "+string(id), err)
}

// DeleteThumbnails implements evidences.ThumbnailStore.
func (s *ThumbnailStore) DeleteThumbnails(ctx context.Context, age time.Duration) error {
	_, err := s.db.ExecContext(ctx, `
		WITH expired AS (DELETE FROM thumbnail_leases WHERE wanted_until < now() - interval '1 minute')
		DELETE FROM thumbnails WHERE stored_at < now() - make_interval(secs => $1)`, age.Seconds())
	return wrapError(ctx, "delete old thumbnails", err)
}
