package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lockedMonitor is a monitor whose row the transaction has locked.
type lockedMonitor struct {
	id          monitor.ID
	status      monitor.Status
	reason      string
	generation  int
	revision    int    // of config, callback URL, metadata, labels and pause
	runtimeID   string // where the newest generation was launched; the column place
	reserved    bool
	visible     feed.Visible // as readers of the feed see it
	reportedAt  time.Time    // of the newest report of this generation; zero: none
	seenAt      time.Time    // of the newest report of any generation; zero: none
	streamURL   string
	noCallback  bool // routes alone tell somebody
	metadata    []byte
	labels      labels
	watched     bool // a page shows its thumbnails
	official    *monitor.OfficialState
	ingest      *monitor.IngestState
	pausedUntil time.Time // the end of the newest pause; zero: there was none
	pausedSince time.Time // the beginning of that pause; zero: there was none
	pausedBy    string    // who asked for it; empty: unknown
	paused      bool      // the newest pause has not ended
	parked      bool      // its history and its incidents are not stored at present: see orPark
	wasParked   bool      // they were not stored before this transaction
}

// selectLocked reads what lockMonitor and lockMonitors return.
var selectLocked = `
	SELECT id, status, reason, generation, place, reserved_until IS NOT NULL AS reserved, blind_since IS NOT NULL AS blind, reported_at,
	       COALESCE(reported_at, seen_at) AS seen_at, stream_url, callback_url = '' AS no_callback, metadata_text, labels, stream_status, health_video, health_audio, health_conditions, health_renditions, last_error, revision,
	       ` + thumbnailWanted + ` AS watched, ` + youngOfficialState + ` AS official, ` + ingestState + ` AS ingest,
	       paused_until, paused_since, paused_by, COALESCE(paused_until > now(), false) AS paused,
	       COALESCE(record_tried_at > now() - ` + parkedFor + `, false) AS parked, record_parked_since IS NOT NULL AS was_parked
	FROM monitors`

// lockMonitor locks a monitor's row until the transaction ends. Errors:
// *monitor.Error NotFound.
func lockMonitor(ctx context.Context, tx *sqlx.Tx, id monitor.ID) (lockedMonitor, error) {
	locked, err := scanLocked(ctx, tx, selectLocked+` WHERE id = $1 FOR UPDATE`, id)
	if err == nil && len(locked) == 0 {
		err = monitorNotFound(id)
	}
	if err != nil {
		return lockedMonitor{id: id}, err
	}
	return locked[0], nil
}

// lockMonitors locks the rows of monitors and returns them in the order of their IDs. It
// waits for none: those that another transaction has locked are missing, as unknown ones.
func lockMonitors(ctx context.Context, tx *sqlx.Tx, ids []monitor.ID) ([]lockedMonitor, error) {
	return scanLocked(ctx, tx, selectLocked+` WHERE id = ANY ($1) ORDER BY id FOR UPDATE SKIP LOCKED`, pq.Array(ids))
}

func scanLocked(ctx context.Context, tx *sqlx.Tx, query string, arg any) (all []lockedMonitor, err error) {
	rows, err := tx.QueryContext(ctx, query, arg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var m lockedMonitor
		var metadata sql.NullString
		var conditions, renditions, official, ingest []byte
		var reportedAt, seenAt, pausedUntil, pausedSince sql.NullTime
		if err := rows.Scan(&m.id, &m.status, &m.reason, &m.generation, &m.runtimeID, &m.reserved, &m.visible.Blind, &reportedAt,
			&seenAt, &m.streamURL, &m.noCallback, &metadata, &m.labels, &m.visible.StreamStatus, &m.visible.Video, &m.visible.Audio, &conditions, &renditions, &m.visible.LastError, &m.revision,
			&m.watched, &official, &ingest, &pausedUntil, &pausedSince, &m.pausedBy, &m.paused, &m.parked, &m.wasParked); err != nil {
			return nil, err
		}
		m.visible.Status = m.status
		m.visible.Conditions, m.visible.Renditions = visibleStates(conditions, feed.Conditions), visibleStates(renditions, feed.Renditions)
		for _, state := range []struct {
			column []byte
			into   any
		}{{official, &m.official}, {ingest, &m.ingest}} {
			if state.column == nil {
				continue
			}
			if err := json.Unmarshal(state.column, state.into); err != nil {
				return nil, err
			}
		}
		m.metadata, m.reportedAt, m.seenAt = []byte(metadata.String), timeOrZero(reportedAt), timeOrZero(seenAt)
		m.pausedSince, m.pausedUntil = timeOrZero(pausedSince), timeOrZero(pausedUntil)
		all = append(all, m)
	}
	return all, rows.Err()
}

// visibleStates returns a field of feed.Visible of a column with states. A column that cannot be read differs from
// any report, so that the next one makes an entry.
func visibleStates[S any](column []byte, text func([]S) string) string {
	if len(column) == 0 {
		return ""
	}
	var states []S
	if err := json.Unmarshal(column, &states); err != nil {
		return err.Error()
	}
	return text(states)
}

// requireGeneration returns nil if the monitor is active and generation is its
// newest. Errors: *monitor.Error NotFound; monitor.ErrSuperseded.
func (m lockedMonitor) requireGeneration(generation int) error {
	switch {
	case !m.status.Active():
		return monitor.Errorf(monitor.NotFound, "monitor %s is not active: its status is %s", m.id, m.status)
	case m.generation != generation:
		return fmt.Errorf("%s has generation %d, not %d: %w", m.id, m.generation, generation, monitor.ErrSuperseded)
	}
	return nil
}

// callbackFailed reports whether the monitor ended because a webhook could not be
// delivered (decision W4).
func (m lockedMonitor) callbackFailed() bool { return m.reason == event.ReasonCallbackFailed }

// endMonitor stores the end of a monitor that the caller has locked and found active. It
// removes the monitor's reservation, blindness, pause and snapshot: an ended monitor has none. Its number is
// free when readers of the feed see the monitor no more.
func endMonitor(ctx context.Context, tx *sqlx.Tx, id monitor.ID, to monitor.Status, reason string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `
		WITH ended AS (
			UPDATE monitors SET status = $2, reason = $3, ended_at = $4, reserved_until = NULL, blind_since = NULL, paused_until = NULL, unseen = NULL, snapshot = NULL, stream_secret = NULL, updated_at = now()
			WHERE id = $1 RETURNING number)
		UPDATE monitor_numbers n SET free_at = clock_timestamp() + make_interval(secs => $5) FROM ended WHERE n.number = ended.number`,
		id, to, reason, at.UTC(), feed.EndedShown.Seconds())
	return err
}

func monitorNotFound(id monitor.ID) error {
	return monitor.Errorf(monitor.NotFound, "no monitor has the id %.60q", id)
}
