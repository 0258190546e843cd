package postgres

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// heldMonitor is what a transaction knows of the monitor whose row it has
// locked.
type heldMonitor struct {
	id         monitor.ID
	status     monitor.Status
	reason     string
	generation int
	place      string
	reserved   bool
	reportedAt time.Time // of the newest report of this generation; zero: there is none
	streamURL  string
	metadata   []byte
}

// hold locks a monitor's row until the transaction ends.
func hold(ctx context.Context, tx *sqlx.Tx, id monitor.ID) (heldMonitor, error) {
	h := heldMonitor{id: id}
	var metadata sql.NullString
	var reportedAt sql.NullTime
	err := tx.QueryRowxContext(ctx, `
		SELECT status, reason, generation, place, reserved_until IS NOT NULL, reported_at, stream_url, metadata_text
		FROM monitors WHERE id = $1 FOR UPDATE`, id).
		Scan(&h.status, &h.reason, &h.generation, &h.place, &h.reserved, &reportedAt, &h.streamURL, &metadata)
	if errors.Is(err, sql.ErrNoRows) {
		return h, unknown(id)
	}
	h.metadata, h.reportedAt = []byte(metadata.String), instant(reportedAt)
	return h, err
}

// Accept implements control.Desk. What a worker saw before its monitor was
// stopped is stored as well, but changes the monitor no more; once its callback
// has failed, or it was given up (Fail), nothing is.
func (s *Store) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Order, error) {
	r.At = kept(r.At)
	var order monitor.Order
	err := s.inTx(ctx, "store a report of "+string(id), func(tx *sqlx.Tx) error {
		held, err := hold(ctx, tx, id)
		if err != nil {
			return err
		}
		if r.Generation != held.generation {
			return monitor.ErrSuperseded
		}
		order = monitor.Run
		switch {
		case held.reason == event.ReasonCallbackFailed:
			order = monitor.Stop
			return nil
		case !held.status.Active():
			order = monitor.Stop
		case r.Overtaken(held.reportedAt, held.status):
			if _, err := tx.ExecContext(ctx, `UPDATE monitors SET updated_at = now() WHERE id = $1`, id); err != nil {
				return err
			}
		default:
			if err := s.update(ctx, tx, held, r); err != nil {
				return err
			}
			if r.Ends(held.status) {
				order = monitor.Stop
			}
		}
		return s.enqueue(ctx, tx, held, r.Events)
	})
	if err != nil {
		return "", err
	}
	return order, nil
}

// update writes what a report says of an active monitor.
func (s *Store) update(ctx context.Context, tx *sqlx.Tx, held heldMonitor, r monitor.Report) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE monitors SET
			stream_status = COALESCE(NULLIF($2, ''), stream_status),
			health_video  = COALESCE(NULLIF($3, ''), health_video),
			health_audio  = COALESCE(NULLIF($4, ''), health_audio),
			snapshot      = COALESCE(CAST($5 AS jsonb), snapshot),
			reported_at   = $6,
			updated_at    = now()
		WHERE id = $1`,
		held.id, r.StreamStatus, r.Health.Video, r.Health.Audio, nullText(storable(r.Snapshot)), nullTime(r.At))
	if err != nil {
		return refused("snapshot", err)
	}
	others, err := otherCounts(r.Statistics)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE monitor_stats SET
			total_segments  = GREATEST(total_segments, $2),
			blackout_events = GREATEST(blackout_events, $3),
			silence_events  = GREATEST(silence_events, $4),
			detector_events = CASE WHEN CAST($6 AS jsonb) = '{}' THEN detector_events ELSE (
				SELECT jsonb_object_agg(name, n) FROM (
					SELECT key AS name, max(value::int) AS n
					FROM (SELECT * FROM jsonb_each_text(detector_events) UNION ALL SELECT * FROM jsonb_each_text(CAST($6 AS jsonb))) both_counts
					GROUP BY key) larger) END,
			last_check_at   = GREATEST(last_check_at, $5)
		WHERE monitor_id = $1`,
		held.id, r.Statistics.TotalSegmentsAnalyzed, r.Statistics.Alerts(detector.Blackout), r.Statistics.Alerts(detector.Silence), nullTime(r.Health.LastCheckAt), others)
	if err != nil {
		return refused("statistics", err)
	}
	switch {
	case !held.status.MayBecome(r.Status) || r.Status == held.status:
		return nil
	case !r.Status.Active():
		return end(ctx, tx, held.id, r.Status, reasonOf(r), r.At)
	}
	_, err = tx.ExecContext(ctx, `UPDATE monitors SET status = $2 WHERE id = $1`, held.id, r.Status)
	return err
}

// kept is a time as the database keeps it.
func kept(t time.Time) time.Time { return t.Round(time.Microsecond) }

// reasonOf is why a report says error: its last event that ends a monitor.
func reasonOf(r monitor.Report) string {
	if r.Status != monitor.Failed {
		return ""
	}
	for _, e := range slices.Backward(r.Events) {
		if t, ok := e.Data.(event.Trouble); ok && t.Terminal {
			return t.Reason
		}
	}
	return ""
}

// refused turns a value that the database will not have into the worker's
// error.
func refused(what string, err error) error {
	if why, bad := unstorable(err); bad {
		return monitor.Errorf(monitor.InvalidConfig, "%s cannot be stored: %s", what, why)
	}
	return err
}
