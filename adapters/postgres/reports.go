package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ReportStore stores the reports of workers.
type ReportStore struct{ db *database }

// Accept implements registry.ReportStore. If the monitor has ended, Accept still stores
// the events, because the worker saw them before; the report changes nothing else. It
// stores nothing if the monitor ended because a webhook could not be delivered, or by
// SupervisorStore.Fail.
func (s *ReportStore) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	r.At = roundToMicroseconds(r.At)
	var answer monitor.Answer
	err := s.db.inTx(ctx, "store a report of "+string(id), func(tx *sqlx.Tx) error {
		m, err := lockMonitor(ctx, tx, id)
		if err != nil {
			return err
		}
		if r.Generation != m.generation {
			return monitor.ErrSuperseded
		}
		answer = monitor.Answer{Order: monitor.Run, Revision: m.revision, ThumbnailWanted: m.watched}
		applied := false
		switch {
		case m.callbackFailed():
			answer.Order = monitor.Stop
			return nil
		case !m.status.Active():
			answer.Order = monitor.Stop
		case r.Overtaken(m.reportedAt, m.status): // a newer report has stored its state already
			if _, err := tx.ExecContext(ctx, `UPDATE monitors SET updated_at = now() WHERE id = $1`, id); err != nil {
				return err
			}
		default:
			if err := applyReport(ctx, tx, m, r); err != nil {
				return err
			}
			applied = true
			if r.Ends(m.status) {
				answer.Order = monitor.Stop
			}
		}
		added, changes, err := s.db.enqueue(ctx, tx, m, r.Events)
		if err != nil {
			return err
		}
		if err := resolveBlindEvents(ctx, tx, m, r); err != nil {
			return err
		}
		incidents, err := s.db.recordIncidents(ctx, tx, m, foundIn(r, m.status, added, applied))
		if err != nil {
			return err
		}
		changes = append(changes, incidents...)
		if err := s.db.storeHistory(ctx, tx, m, r, applied); err != nil {
			return err
		}
		if applied && m.visible.After(r) != m.visible {
			return s.db.appendMonitor(ctx, tx, id, changes...)
		}
		return s.db.appendFeed(ctx, tx, changes...)
	})
	if err != nil {
		return monitor.Answer{}, err
	}
	return answer, nil
}

// foundIn is what an accepted report says about trouble. A monitor that has ended keeps
// no open condition, whatever its worker saw before.
func foundIn(r monitor.Report, before monitor.Status, added []event.Event, applied bool) found {
	f := found{events: added, signals: r.Signals}
	switch {
	case applied && r.Ends(before):
		f.ended = &incident.MonitorEnded{At: r.At, Failed: r.Status == monitor.Failed}
	case !before.Active() && len(added)+len(r.Signals) > 0:
		f.ended = &incident.MonitorEnded{At: r.At, Failed: before == monitor.Failed}
	}
	return f
}

// applyReport stores the state of an active monitor as a report has it.
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
		return asInvalidConfig("snapshot", err)
	}
	if v := r.Visibility; v != nil {
		_, err = tx.ExecContext(ctx, `UPDATE monitors SET last_error = $2, blind_since = $3, last_observed_at = $4 WHERE id = $1`,
			m.id, v.LastError, nullTime(v.BlindSince), nullTime(v.LastObservedAt))
		if err != nil {
			return asInvalidConfig("visibility", err)
		}
	}
	detectorEvents, err := encodeDetectorEvents(r.Statistics)
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
		m.id, r.Statistics.TotalSegmentsAnalyzed, r.Statistics.Alerts(detector.Blackout), r.Statistics.Alerts(detector.Silence), nullTime(r.Health.LastCheckAt), detectorEvents)
	if err != nil {
		return asInvalidConfig("statistics", err)
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

// resolveBlindEvents stores in the monitor's blind events when the blindness ended
// (decision S15). It changes only events without that time. Such an event exists only
// if the monitor was blind, or if this report contains it.
func resolveBlindEvents(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, r monitor.Report) error {
	at, resolved := r.ResolvedAt()
	if !resolved || !m.visible.Blind && !slices.ContainsFunc(r.Events, event.Event.IsBlindness) {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE monitor_events SET resolved_at = $2
		WHERE monitor_id = $1 AND event_type = $3 AND resolved_at IS NULL AND payload->'data'->>'reason' = $4`,
		m.id, at.UTC(), event.MonitorError, event.ReasonBlind)
	return err
}

// roundToMicroseconds rounds a time as PostgreSQL does when it stores it.
func roundToMicroseconds(t time.Time) time.Time { return t.Round(time.Microsecond) }

// failureReason returns the reason of a report with status error. That is the reason of
// its last terminal event; empty: it has none, or another status.
func failureReason(r monitor.Report) string {
	if r.Status != monitor.Failed {
		return ""
	}
	for _, e := range slices.Backward(r.Events) {
		if failure, ok := e.Data.(event.MonitorFailure); ok && failure.Terminal {
			return failure.Reason
		}
	}
	return ""
}
