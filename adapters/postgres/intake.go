package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ReportStore stores the reports of workers.
type ReportStore struct {
	db    *database
	delay time.Duration // Config.ReportDelay
	queue groupQueue[*queuedReport]
}

// Accept implements intake.ReportStore. If the monitor has ended, Accept still stores
// the events, with what follows from them, and the minutes, because the worker saw them before; the state of the monitor stays. It
// stores nothing if the monitor ended because a webhook could not be delivered, or by
// SupervisorStore.Fail.
//
// Reports that arrive while others are being stored share a transaction. One without events
// and signals, of a monitor that goes on, waits for others up to Config.ReportDelay. A report that
// the group leaves out is stored in a transaction of its own.
func (s *ReportStore) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	r.At = roundToMicroseconds(r.At)
	one := &queuedReport{queueItem: newQueueItem(ctx, string(id)), id: id, report: r}
	if len(r.Events)+len(r.Signals) == 0 && r.Status.Active() {
		one.due = time.Now().Add(s.delay)
	}
	if err := s.queue.add(one, together(s.db, s.storeGroup)); err != nil {
		return monitor.Answer{}, wrapError(ctx, "store a report of "+string(id), err)
	}
	if !one.alone {
		return one.answer, one.err
	}
	err := s.db.inTx(ctx, "store a report of "+string(id), func(tx *sqlx.Tx) error {
		m, err := lockMonitor(ctx, tx, id)
		if err != nil {
			return err
		}
		if f, accepted := one.accept(m); accepted {
			return s.db.recordOrPark(ctx, tx, f)
		}
		return one.err
	})
	if err != nil {
		return monitor.Answer{}, err
	}
	return one.answer, nil
}

// queuedReport is a report that is to be stored, and what came of it.
type queuedReport struct {
	queueItem

	id     monitor.ID
	report monitor.Report
	answer monitor.Answer
	err    error // why the report is refused
}

// storeGroup stores reports of different monitors. It leaves out those of monitors that are unknown,
// locked by another transaction, or whose record was parked.
func (s *ReportStore) storeGroup(ctx context.Context, tx *sqlx.Tx, group []*queuedReport) (stored []*queuedReport, err error) {
	byMonitor := map[monitor.ID]*queuedReport{}
	ids := make([]monitor.ID, 0, len(group))
	for _, r := range group {
		byMonitor[r.id] = r
		ids = append(ids, r.id)
	}
	locked, err := lockMonitors(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	var all []found
	for _, m := range locked {
		if m.wasParked {
			continue
		}
		r := byMonitor[m.id]
		stored = append(stored, r)
		if f, accepted := r.accept(m); accepted {
			all = append(all, f)
		}
	}
	return stored, s.db.record(ctx, tx, all...)
}

// accept sets the answer to a report of a monitor, which the transaction has locked, and returns what the report
// has found. accepted is false if nothing of it is to be stored. A monitor that has ended keeps no open condition,
// whatever its worker saw before.
func (r *queuedReport) accept(m lockedMonitor) (f found, accepted bool) {
	if r.report.Generation != m.generation {
		r.answer, r.err = monitor.Answer{}, monitor.ErrSuperseded
		return f, false
	}
	paused := r.report.Paused
	if r.report.Revision < m.revision { // the worker has yet to hear of the newest change
		paused = m.paused
	}
	if r.report.Paused = paused; paused {
		r.report = r.report.InPause(m.pausedSince)
	}
	f = found{monitor: m, report: &r.report, events: r.report.Events}
	r.answer, r.err = monitor.Answer{Order: monitor.Run, Revision: m.revision, ThumbnailWanted: m.watched, OfficialState: m.official, IngestState: m.ingest}, nil
	switch {
	case !m.status.Active():
		r.answer.Order = monitor.Stop
		if len(r.report.Events)+len(r.report.Signals) > 0 {
			f.ended = &incident.MonitorEnded{At: r.report.At, Failed: m.status == monitor.Failed}
		}
	case !r.report.Overtaken(m.reportedAt, m.status): // else a newer report has stored its state already
		f.applied, f.changed = true, m.visible.After(r.report) != m.visible
		if r.report.Ends(m.status) {
			r.answer.Order = monitor.Stop
			f.ended = &incident.MonitorEnded{At: r.report.At, Failed: r.report.Status == monitor.Failed}
		}
	}
	if paused && f.ended == nil && len(f.events) > 0 {
		f.paused = &incident.Paused{By: m.pausedBy} // what began before the pause has ended with it
	}
	return f, !m.callbackFailed()
}

// applyReports stores the states of active monitors as reports have them.
func (db *database) applyReports(ctx context.Context, tx *sqlx.Tx, all []found) error {
	var states []stateRow
	var statistics []statisticsRow
	for _, f := range all {
		if f.report == nil || !f.monitor.status.Active() {
			continue
		}
		state := newStateRow(f)
		if f.applied && len(f.report.Snapshot) > 0 {
			var err error
			if state.Snapshot, err = db.secrets.Seal(f.report.Snapshot, string(f.monitor.id)); err != nil && !errors.Is(err, errNoSecretsKey) {
				return err
			}
		}
		states = append(states, state)
		if !f.applied {
			continue
		}
		counted, err := newStatisticsRow(f)
		if err != nil {
			return err
		}
		statistics = append(statistics, counted)
	}
	if err := execRows(ctx, tx, storeMonitorStates, states); err != nil {
		return asInvalidConfig("visibility", err)
	}
	if err := execRows(ctx, tx, storeStatistics, statistics); err != nil {
		return asInvalidConfig("statistics", err)
	}
	for _, f := range all {
		if f.applied && f.ended != nil {
			if err := endMonitor(ctx, tx, f.monitor.id, f.report.Status, failureReason(*f.report), f.report.At); err != nil {
				return err
			}
		}
	}
	return nil
}

// execRows passes rows as JSON ($1) and their number ($2), which the statement uses as a LIMIT.
// Without it the planner expects 100 rows and may read the whole table. It runs nothing without
// rows.
func execRows[Row any](ctx context.Context, tx *sqlx.Tx, statement string, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, statement, string(encoded), len(rows))
	return err
}

// stateRow is what a report changes in monitors. Of an overtaken one it is nothing but
// updated_at.
type stateRow struct {
	ID             monitor.ID               `json:"id"`
	Status         string                   `json:"status,omitempty"`
	StreamStatus   string                   `json:"stream_status,omitempty"`
	Broadcast      string                   `json:"broadcast,omitempty"`
	Video          string                   `json:"health_video,omitempty"`
	Audio          string                   `json:"health_audio,omitempty"`
	Conditions     []monitor.DetectorState  `json:"health_conditions,omitempty"`
	Renditions     []monitor.RenditionState `json:"health_renditions,omitempty"`
	Snapshot       []byte                   `json:"snapshot,omitempty"` // encrypted: it has the URLs of media, and what goes with them
	Applied        bool                     `json:"applied"`
	ReportedAt     *time.Time               `json:"reported_at,omitempty"`
	Visible        bool                     `json:"visible"` // the next four are reported
	LastError      string                   `json:"last_error"`
	BlindSince     *time.Time               `json:"blind_since,omitempty"`
	LastObservedAt *time.Time               `json:"last_observed_at,omitempty"`
	Unseen         *monitor.Unseen          `json:"unseen,omitempty"`
}

func newStateRow(r found) stateRow {
	row := stateRow{ID: r.monitor.id, Applied: r.applied}
	if !r.applied {
		return row
	}
	if status := r.report.Status; r.monitor.status.MayBecome(status) && status.Active() {
		row.Status = string(status)
	}
	row.StreamStatus, row.Video, row.Audio = string(r.report.StreamStatus), string(r.report.Health.Video), string(r.report.Health.Audio)
	row.Conditions, row.Renditions = r.report.Health.Conditions, r.report.Health.Renditions
	row.Broadcast = r.report.Broadcast
	if !r.byGateway {
		row.ReportedAt = timeOrNull(r.report.At)
	}
	if v := r.report.Visibility; v != nil {
		row.Visible, row.LastError, row.BlindSince, row.LastObservedAt = true, v.LastError, timeOrNull(v.BlindSince), timeOrNull(v.LastObservedAt)
		if v.Unseen != (monitor.Unseen{}) {
			row.Unseen = &v.Unseen
		}
	}
	return row
}

const storeMonitorStates = `
	UPDATE monitors m SET
		status           = COALESCE(n.status, m.status),
		stream_status    = COALESCE(n.stream_status, m.stream_status),
		broadcast        = COALESCE(n.broadcast, m.broadcast),
		health_video     = COALESCE(n.health_video, m.health_video),
		health_audio     = COALESCE(n.health_audio, m.health_audio),
		health_conditions = CASE WHEN n.health_video IS NULL AND n.health_audio IS NULL THEN m.health_conditions ELSE n.health_conditions END,
		health_renditions = CASE WHEN n.health_video IS NULL AND n.health_audio IS NULL THEN m.health_renditions ELSE n.health_renditions END,
		snapshot         = COALESCE(decode(n.snapshot, 'base64'), m.snapshot),
		reported_at      = COALESCE(n.reported_at, m.reported_at),
		last_error       = CASE WHEN n.visible THEN n.last_error ELSE m.last_error END,
		blind_since      = CASE WHEN n.visible THEN n.blind_since ELSE m.blind_since END,
		last_observed_at = CASE WHEN n.visible THEN n.last_observed_at ELSE m.last_observed_at END,
		unseen           = CASE WHEN n.visible THEN n.unseen ELSE m.unseen END,
		updated_at       = now()
	FROM (SELECT * FROM json_to_recordset($1)
	      AS rows (id text, status text, stream_status text, broadcast text, health_video text, health_audio text, health_conditions jsonb, health_renditions jsonb, snapshot text, applied bool,
	               reported_at timestamptz, visible bool, last_error text, blind_since timestamptz, last_observed_at timestamptz, unseen jsonb) LIMIT $2) AS n
	WHERE m.id = n.id`

// statisticsRow is what a report says about monitor_stats.
type statisticsRow struct {
	ID             monitor.ID      `json:"id"`
	Segments       int64           `json:"segments"`
	Blackouts      int64           `json:"blackouts"`
	Silences       int64           `json:"silences"`
	DetectorEvents json.RawMessage `json:"detector_events"`
	LastCheckAt    *time.Time      `json:"last_check_at,omitempty"`
}

func newStatisticsRow(r found) (statisticsRow, error) {
	s := r.report.Statistics
	detectorEvents, err := encodeDetectorEvents(s)
	return statisticsRow{
		ID: r.monitor.id, Segments: int64(s.TotalSegmentsAnalyzed), Blackouts: int64(s.Alerts(detector.Blackout)), Silences: int64(s.Alerts(detector.Silence)),
		DetectorEvents: json.RawMessage(detectorEvents), LastCheckAt: timeOrNull(r.report.Health.LastCheckAt),
	}, err
}

const storeStatistics = `
	UPDATE monitor_stats s SET
		total_segments  = GREATEST(s.total_segments, n.segments),
		blackout_events = GREATEST(s.blackout_events, n.blackouts),
		silence_events  = GREATEST(s.silence_events, n.silences),
		detector_events = CASE WHEN n.detector_events = '{}' THEN s.detector_events ELSE (
			SELECT jsonb_object_agg(name, larger.n) FROM (
				SELECT key AS name, max(value::int) AS n
				FROM (SELECT * FROM jsonb_each_text(s.detector_events) UNION ALL SELECT * FROM jsonb_each_text(n.detector_events)) both_counts
				GROUP BY key) larger) END,
		last_check_at   = GREATEST(s.last_check_at, n.last_check_at)
	FROM (SELECT * FROM json_to_recordset($1)
	      AS rows (id text, segments bigint, blackouts bigint, silences bigint, detector_events jsonb, last_check_at timestamptz) LIMIT $2) AS n
	WHERE s.monitor_id = n.id`

// resolveBlindEvents stores in the monitor's blind events when the blindness ended
// (decision S15). It changes only events without that time. Such an event exists only
// if the monitor was blind, or if this report contains it.
func resolveBlindEvents(ctx context.Context, tx *sqlx.Tx, f found) error {
	if f.report == nil {
		return nil
	}
	at, resolved := f.report.ResolvedAt()
	if !resolved || !f.monitor.visible.Blind && !slices.ContainsFunc(f.report.Events, event.Event.IsBlindness) {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE monitor_events SET resolved_at = $2
		WHERE monitor_id = $1 AND event_type = $3 AND resolved_at IS NULL AND payload->'data'->>'reason' = $4`,
		f.monitor.id, at.UTC(), event.MonitorError, event.ReasonBlind)
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
