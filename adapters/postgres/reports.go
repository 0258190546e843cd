package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ReportStore stores the reports of workers.
type ReportStore struct{ db *database }

// Accept implements registry.ReportStore. Events that a worker saw before its monitor was
// stopped are stored, but the report no longer changes the monitor. Nothing is
// stored after its callback has failed or after Fail.
func (s *ReportStore) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Order, error) {
	r.At = roundToMicroseconds(r.At)
	var order monitor.Order
	err := s.db.inTx(ctx, "store a report of "+string(id), func(tx *sqlx.Tx) error {
		m, err := lockMonitor(ctx, tx, id)
		if err != nil {
			return err
		}
		if r.Generation != m.generation {
			return monitor.ErrSuperseded
		}
		order = monitor.Run
		switch {
		case m.callbackFailed():
			order = monitor.Stop
			return nil
		case !m.status.Active():
			order = monitor.Stop
		case r.Overtaken(m.reportedAt, m.status):
			if _, err := tx.ExecContext(ctx, `UPDATE monitors SET updated_at = now() WHERE id = $1`, id); err != nil {
				return err
			}
		default:
			if err := applyReport(ctx, tx, m, r); err != nil {
				return err
			}
			if r.Ends(m.status) {
				order = monitor.Stop
			}
		}
		if err := s.db.enqueue(ctx, tx, m, r.Events); err != nil {
			return err
		}
		return resolveBlindness(ctx, tx, m, r)
	})
	if err != nil {
		return "", err
	}
	return order, nil
}

// applyReport stores the state that a report gives of an active monitor.
func applyReport(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, r monitor.Report) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE monitors SET
			stream_status = COALESCE(NULLIF($2, ''), stream_status),
			health_video  = COALESCE(NULLIF($3, ''), health_video),
			health_audio  = COALESCE(NULLIF($4, ''), health_audio),
			snapshot      = COALESCE(CAST($5 AS jsonb), snapshot),
			reported_at   = $6,
			updated_at    = now()
		WHERE id = $1`,
		m.id, r.StreamStatus, r.Health.Video, r.Health.Audio, nullText(sanitizeJSON(r.Snapshot)), nullTime(r.At))
	if err != nil {
		return asConfigError("snapshot", err)
	}
	if v := r.Visibility; v != nil {
		_, err = tx.ExecContext(ctx, `UPDATE monitors SET last_error = $2, blind_since = $3, last_observed_at = $4 WHERE id = $1`,
			m.id, v.LastError, nullTime(v.BlindSince), nullTime(v.LastObservedAt))
		if err != nil {
			return asConfigError("visibility", err)
		}
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
		m.id, r.Statistics.TotalSegmentsAnalyzed, r.Statistics.Alerts(detector.Blackout), r.Statistics.Alerts(detector.Silence), nullTime(r.Health.LastCheckAt), others)
	if err != nil {
		return asConfigError("statistics", err)
	}
	switch {
	case !m.status.MayBecome(r.Status) || r.Status == m.status:
		return nil
	case !r.Status.Active():
		return endMonitor(ctx, tx, m.id, r.Status, failureReason(r), r.At)
	}
	_, err = tx.ExecContext(ctx, `UPDATE monitors SET status = $2 WHERE id = $1`, m.id, r.Status)
	return err
}

// resolveBlindness stores when sight returned, for every event of blindness that
// is open (decision S15). It looks for one only if there can be one: the monitor
// was blind, or the report itself carries one.
func resolveBlindness(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, r monitor.Report) error {
	at, resolved := r.ResolvedAt()
	if !resolved || !m.blind && !slices.ContainsFunc(r.Events, event.Event.IsBlindness) {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE monitor_events SET resolved_at = $2
		WHERE monitor_id = $1 AND event_type = $3 AND resolved_at IS NULL AND payload->'data'->>'reason' = $4`,
		m.id, at.UTC(), event.MonitorError, event.ReasonBlind)
	return err
}

// roundToMicroseconds returns a time as PostgreSQL stores it.
func roundToMicroseconds(t time.Time) time.Time { return t.Round(time.Microsecond) }

// failureReason returns why a report has status error: the reason of its last event
// that ends a monitor.
func failureReason(r monitor.Report) string {
	if r.Status != monitor.Failed {
		return ""
	}
	for _, e := range slices.Backward(r.Events) {
		if t, ok := e.Data.(event.MonitorFailure); ok && t.Terminal {
			return t.Reason
		}
	}
	return ""
}
