package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ReportStore stores the reports of workers.
type ReportStore struct {
	db    *database
	delay time.Duration // Config.ReportDelay
	queue groupQueue[*queuedReport]
}

// Accept implements registry.ReportStore. If the monitor has ended, Accept still stores
// the events, because the worker saw them before; the report changes nothing else. It
// stores nothing if the monitor ended because a webhook could not be delivered, or by
// SupervisorStore.Fail.
//
// Reports that arrive while others are being stored share a transaction. One without events
// and signals, of a monitor that goes on, waits for others up to Config.ReportDelay. If the
// transaction fails, each of its reports is stored in one of its own.
func (s *ReportStore) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	r.At = roundToMicroseconds(r.At)
	one := &queuedReport{queueItem: newQueueItem(ctx, string(id)), id: id, report: r}
	if len(r.Events)+len(r.Signals) == 0 && r.Status.Active() {
		one.due = time.Now().Add(s.delay)
	}
	if err := s.queue.add(one, s.storeGroup); err != nil {
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
		if err := s.store(ctx, tx, optionally, []*storedReport{{queuedReport: one, monitor: m}}); err != nil {
			return err
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

// storeGroup stores reports of different monitors in one transaction, and sets which of them
// are to be stored alone. These are all if the server has refused anything. Else they are
// those of monitors that are unknown, or locked by another transaction.
func (s *ReportStore) storeGroup(ctx context.Context, group []*queuedReport) {
	byMonitor := map[monitor.ID]*queuedReport{}
	ids := make([]monitor.ID, 0, len(group))
	for _, r := range group {
		byMonitor[r.id], r.alone = r, true
		ids = append(ids, r.id)
	}
	err := s.db.runTx(ctx, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, groupLockTimeout); err != nil {
			return err
		}
		locked, err := lockMonitors(ctx, tx, ids)
		if err != nil {
			return err
		}
		all := make([]*storedReport, 0, len(locked))
		for _, m := range locked {
			byMonitor[m.id].alone = false
			all = append(all, &storedReport{queuedReport: byMonitor[m.id], monitor: m})
		}
		return s.store(ctx, tx, required, all)
	})
	if err == nil {
		return
	}
	for _, r := range group {
		r.answer, r.err, r.alone = monitor.Answer{}, nil, true
	}
}

// storedReport is a report with its monitor, which the transaction has locked.
type storedReport struct {
	*queuedReport

	monitor lockedMonitor
	applied bool          // it gives the present state
	events  []newEventRow // of the report
}

// accept decides what is to be stored of a report. It sets err if that is nothing, because
// the report is refused, and the answer.
func (r *storedReport) accept(db *database) {
	r.answer, r.err, r.applied = monitor.Answer{Order: monitor.Run, Revision: r.monitor.revision, ThumbnailWanted: r.monitor.watched}, nil, false
	switch {
	case r.report.Generation != r.monitor.generation:
		r.answer, r.err = monitor.Answer{}, monitor.ErrSuperseded
		return
	case r.monitor.callbackFailed():
		r.answer.Order = monitor.Stop
		return
	case !r.monitor.status.Active():
		r.answer.Order = monitor.Stop
	case !r.report.Overtaken(r.monitor.reportedAt, r.monitor.status): // else a newer report has stored its state already
		r.applied = true
		if r.report.Ends(r.monitor.status) {
			r.answer.Order = monitor.Stop
		}
	}
	if r.events, r.err = db.newEventRows(r.monitor, r.report.Events); r.err != nil {
		r.answer = monitor.Answer{}
	}
}

// store stores reports of different monitors, in the order of their IDs, and sets their
// answers. It commits the transaction if it appends to the feed.
func (s *ReportStore) store(ctx context.Context, tx *sqlx.Tx, run runPart, all []*storedReport) error {
	accepted := make([]*storedReport, 0, len(all))
	var events []newEventRow
	for _, r := range all {
		if r.accept(s.db); r.err != nil || r.monitor.callbackFailed() {
			continue
		}
		accepted, events = append(accepted, r), append(events, r.events...)
	}
	if err := applyReports(ctx, tx, accepted); err != nil {
		return err
	}
	stored, err := insertEvents(ctx, tx, events)
	if err != nil {
		return err
	}
	var visible []monitor.ID
	var changes []feed.Data
	var trouble []found
	var history []historyOf
	for _, r := range accepted {
		added, ofEvents := stored.of(r.report.Events)
		changes = append(changes, ofEvents...)
		if err := resolveBlindEvents(ctx, tx, r.monitor, r.report); err != nil {
			return err
		}
		trouble = append(trouble, foundIn(r.report, r.monitor, added, r.applied))
		history = append(history, historyOf{r.monitor, r.report, r.applied})
		if r.applied && r.monitor.visible.After(r.report) != r.monitor.visible {
			visible = append(visible, r.monitor.id)
		}
	}
	if err := s.db.storeHistory(ctx, tx, run, history...); err != nil {
		return err
	}
	monitors, err := s.db.feed.monitorChanges(ctx, tx, visible...)
	if err != nil {
		return err
	}
	// As late as possible: it may take the lock of storms, for which other gateways wait.
	incidents, err := s.db.recordIncidents(ctx, tx, run, trouble...)
	if err != nil {
		return err
	}
	return s.db.feed.appendAndCommit(ctx, tx, slices.Concat(monitors, changes, incidents)...)
}

// foundIn is what an accepted report says about trouble. A monitor that has ended keeps
// no open condition, whatever its worker saw before.
func foundIn(r monitor.Report, m lockedMonitor, added []event.Event, applied bool) found {
	f, before := found{monitor: m, events: added, signals: r.Signals, sentAt: r.SentAt}, m.status
	switch {
	case applied && r.Ends(before):
		f.ended = &incident.MonitorEnded{At: r.At, Failed: r.Status == monitor.Failed}
	case !before.Active() && len(added)+len(r.Signals) > 0:
		f.ended = &incident.MonitorEnded{At: r.At, Failed: before == monitor.Failed}
	}
	return f
}

// applyReports stores the states of active monitors as reports have them.
func applyReports(ctx context.Context, tx *sqlx.Tx, all []*storedReport) error {
	var states []stateRow
	var statistics []statisticsRow
	for _, r := range all {
		if !r.monitor.status.Active() {
			continue
		}
		states = append(states, newStateRow(r))
		if !r.applied {
			continue
		}
		counted, err := newStatisticsRow(r)
		if err != nil {
			return err
		}
		statistics = append(statistics, counted)
	}
	if err := execRows(ctx, tx, storeMonitorStates, states); err != nil {
		return asInvalidConfig("snapshot or visibility", err)
	}
	if err := execRows(ctx, tx, storeStatistics, statistics); err != nil {
		return asInvalidConfig("statistics", err)
	}
	for _, r := range all {
		if r.applied && r.report.Ends(r.monitor.status) {
			if err := endMonitor(ctx, tx, r.id, r.report.Status, failureReason(r.report), r.report.At); err != nil {
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
	ID             monitor.ID      `json:"id"`
	Status         string          `json:"status,omitempty"`
	StreamStatus   string          `json:"stream_status,omitempty"`
	Video          string          `json:"health_video,omitempty"`
	Audio          string          `json:"health_audio,omitempty"`
	Snapshot       string          `json:"snapshot,omitempty"`
	Applied        bool            `json:"applied"`
	ReportedAt     *time.Time      `json:"reported_at,omitempty"`
	Visible        bool            `json:"visible"` // the next four are reported
	LastError      string          `json:"last_error"`
	BlindSince     *time.Time      `json:"blind_since,omitempty"`
	LastObservedAt *time.Time      `json:"last_observed_at,omitempty"`
	Unseen         *monitor.Unseen `json:"unseen,omitempty"`
}

func newStateRow(r *storedReport) stateRow {
	row := stateRow{ID: r.id, Applied: r.applied}
	if !r.applied {
		return row
	}
	if status := r.report.Status; r.monitor.status.MayBecome(status) && status.Active() {
		row.Status = string(status)
	}
	row.StreamStatus, row.Video, row.Audio = string(r.report.StreamStatus), string(r.report.Health.Video), string(r.report.Health.Audio)
	row.Snapshot, row.ReportedAt = string(sanitizeJSON(r.report.Snapshot)), timeOrNull(r.report.At)
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
		health_video     = COALESCE(n.health_video, m.health_video),
		health_audio     = COALESCE(n.health_audio, m.health_audio),
		snapshot         = COALESCE(CAST(n.snapshot AS jsonb), m.snapshot),
		reported_at      = CASE WHEN n.applied THEN n.reported_at ELSE m.reported_at END,
		last_error       = CASE WHEN n.visible THEN n.last_error ELSE m.last_error END,
		blind_since      = CASE WHEN n.visible THEN n.blind_since ELSE m.blind_since END,
		last_observed_at = CASE WHEN n.visible THEN n.last_observed_at ELSE m.last_observed_at END,
		unseen           = CASE WHEN n.visible THEN n.unseen ELSE m.unseen END,
		updated_at       = now()
	FROM (SELECT * FROM json_to_recordset($1)
	      AS rows (id text, status text, stream_status text, health_video text, health_audio text, snapshot text, applied bool,
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

func newStatisticsRow(r *storedReport) (statisticsRow, error) {
	s := r.report.Statistics
	detectorEvents, err := encodeDetectorEvents(s)
	return statisticsRow{
		ID: r.id, Segments: int64(s.TotalSegmentsAnalyzed), Blackouts: int64(s.Alerts(detector.Blackout)), Silences: int64(s.Alerts(detector.Silence)),
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
