package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// HistoryStore reads the history of monitors and deletes what has expired.
type HistoryStore struct{ db *database }

// inSnapshot runs work in a transaction that sees one state of the database.
func (db *database) inSnapshot(ctx context.Context, operation string, work func(*sqlx.Tx) error) error {
	tx, err := db.BeginTxx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return wrapError(ctx, operation, err)
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	return wrapError(ctx, operation, work(tx))
}

// MonitorHistory implements histories.Store.
func (s *HistoryStore) MonitorHistory(ctx context.Context, id monitor.ID, from, to time.Time, width time.Duration, v histories.Visitor) error {
	return s.db.inSnapshot(ctx, "read the history of "+string(id), func(tx *sqlx.Tx) error {
		life, err := readLife(ctx, tx, id)
		if err != nil {
			return err
		}
		v.Begin(life)
		var span history.Span
		err = eachRow(ctx, tx, []any{&span.Lane, &span.State, &span.From, &span.To}, func() { v.Span(span) }, `
			SELECT lane, state, started_at, ended_at FROM history_spans
			WHERE monitor_id = $1 AND ended_at > $2 AND started_at < $3`, id, from.UTC(), to.UTC())
		if err != nil {
			return err
		}
		if width > time.Minute {
			return mergedMinutes(ctx, tx, id, from, to, width, v.Minute)
		}
		var m monitor.Minute
		first := from.Add(time.Microsecond - time.Minute) // overlaps from
		return eachRow(ctx, tx, append([]any{&m.At, &m.Since}, rangesOf(&m)...), func() { v.Minute(m) }, `
			SELECT minute, since, `+rangeColumns+` FROM `+singleMinutes, id, first.UTC(), to.UTC())
	})
}

// eachRow calls row for each row of a query, after its columns were stored in columns. It
// keeps no row.
func eachRow(ctx context.Context, tx *sqlx.Tx, columns []any, row func(), query string, args ...any) (err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		row()
	}
	return rows.Err()
}

// readLife reads the times of a monitor and the present states of its lanes.
func readLife(ctx context.Context, tx *sqlx.Tx, id monitor.ID) (histories.MonitorLife, error) {
	var life histories.MonitorLife
	var endedAt, seenAt, pausedUntil sql.NullTime
	err := tx.QueryRowxContext(ctx, `SELECT created_at, ended_at, COALESCE(reported_at, seen_at), paused_until FROM monitors WHERE id = $1`, id).
		Scan(&life.CreatedAt, &endedAt, &seenAt, &pausedUntil)
	if errors.Is(err, sql.ErrNoRows) {
		return life, monitorNotFound(id)
	}
	if err != nil {
		return life, err
	}
	life.EndedAt = timeOrZero(endedAt)
	life.Current.Seen, life.Current.PausedUntil = timeOrZero(seenAt), timeOrZero(pausedUntil)
	lanes, err := readLanes(ctx, tx, id)
	life.Current.Lanes = lanes[id]
	return life, err
}

// rangesOf returns where the columns of luma and level are stored.
func rangesOf(m *monitor.Minute) []any {
	return []any{&m.Luma.Min, &m.Luma.Mean, &m.Luma.Max, &m.Luma.N, &m.Level.Min, &m.Level.Mean, &m.Level.Max, &m.Level.N}
}

// mergedColumns merges the luma and level of several rows.
const mergedColumns = `
	COALESCE(min(luma_min) FILTER (WHERE luma_n > 0), 0), COALESCE(sum(luma_mean * luma_n) / NULLIF(sum(luma_n), 0), 0),
	COALESCE(max(luma_max) FILTER (WHERE luma_n > 0), 0), sum(luma_n),
	COALESCE(min(level_min) FILTER (WHERE level_n > 0), 0), COALESCE(sum(level_mean * level_n) / NULLIF(sum(level_n), 0), 0),
	COALESCE(max(level_max) FILTER (WHERE level_n > 0), 0), sum(level_n)`

// singlesFrom is when the minutes begin that are kept singly: at most history.MinutesKept ago, and
// before all that are not merged yet.
var singlesFrom = fmt.Sprintf(`LEAST((SELECT until FROM history_merged), date_bin('10 minutes', now() - make_interval(secs => %d), 'epoch'))`,
	int(history.MinutesKept.Seconds()))

const rangeColumns = `luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n`

// Minutes of a monitor. Merged ones stand for each of their ten in singleMinutes, where the ten are
// not kept, and for all of them in joinedMinutes.
var (
	singleMinutes = `(
		SELECT minute, since, ` + rangeColumns + ` FROM history_minutes
		WHERE monitor_id = $1 AND minute >= GREATEST($2, ` + singlesFrom + `) AND minute < $3
		UNION ALL
		SELECT one.minute, one.minute, ` + rangeColumns + `
		FROM history_ten_minutes CROSS JOIN LATERAL generate_series(begins, begins + interval '9 minutes', '1 minute') AS one (minute)
		WHERE monitor_id = $1 AND begins > $2 - interval '10 minutes' AND begins < LEAST($3, ` + singlesFrom + `)
		  AND one.minute >= $2 AND one.minute < $3) AS minutes`
	joinedMinutes = `(
		SELECT begins AS minute, ` + rangeColumns + `
		FROM history_ten_minutes WHERE monitor_id = $1 AND begins >= $2 AND begins < LEAST($3, (SELECT until FROM history_merged))
		UNION ALL
		SELECT minute, ` + rangeColumns + `
		FROM history_minutes WHERE monitor_id = $1 AND minute >= GREATEST($2, (SELECT until FROM history_merged)) AND minute < $3) AS minutes`
)

// mergedMinutes merges the minutes that begin within each width. A month has 50,000
// minutes, of which a timeline shows at most 2,000 parts.
func mergedMinutes(ctx context.Context, tx *sqlx.Tx, id monitor.ID, from, to time.Time, width time.Duration, each func(monitor.Minute)) error {
	minutes := singleMinutes
	if width >= history.MergedLength {
		minutes = joinedMinutes
	}
	var part int64
	var m monitor.Minute
	return eachRow(ctx, tx, append([]any{&part}, rangesOf(&m)...), func() {
		m.At = from.Add(time.Duration(part) * width)
		each(m)
	}, `
		SELECT floor(date_part('epoch', minute - $2) / $4)::bigint, -- EXTRACT is numeric, and slower
		`+mergedColumns+` FROM `+minutes+` GROUP BY 1`, id, from.UTC(), to.UTC(), width.Seconds())
}

// maxBroadcasts is how many of the newest broadcasts of a monitor are read.
const maxBroadcasts = 1000

// Broadcasts implements histories.Store.
func (s *HistoryStore) Broadcasts(ctx context.Context, id monitor.ID) (found histories.Broadcasts, err error) {
	err = s.db.inSnapshot(ctx, "read the broadcasts of "+string(id), func(tx *sqlx.Tx) error {
		if found.MonitorLife, err = readLife(ctx, tx, id); err != nil {
			return err
		}
		var kind event.Type
		var text sql.NullString
		return eachRow(ctx, tx, []any{&kind, &text}, func() {
			at, err := time.Parse(time.RFC3339Nano, text.String)
			switch {
			case err != nil: // not of this program
			case kind == event.StreamStarted:
				found.Started = append(found.Started, at)
			default:
				found.Ended = append(found.Ended, at)
			}
		}, `
			SELECT event_type, COALESCE(payload->'data'->>'started_at', payload->'data'->>'ended_at') FROM monitor_events
			WHERE monitor_id = $1 AND event_type IN ($2, $3) ORDER BY created_at DESC LIMIT $4`, id, event.StreamStarted, event.StreamEnded, 2*maxBroadcasts)
	})
	return found, err
}

// mergeBatch limits the monitors whose minutes one statement merges.
const mergeBatch = 500

// MergeMinutes implements histories.ExpiryStore. Gateways take turns by the row of
// history_merged, which says how far the last one came.
func (s *HistoryStore) MergeMinutes(ctx context.Context, before time.Time) (more bool, err error) {
	err = s.db.inTx(ctx, "merge the minutes of the history", func(tx *sqlx.Tx) error {
		var merged struct {
			Until  time.Time    `db:"until"`
			Behind string       `db:"monitor_id"`
			Oldest sql.NullTime `db:"oldest"`
		}
		err := tx.GetContext(ctx, &merged, `
			SELECT until, monitor_id, (SELECT min(minute) FROM history_minutes WHERE minute >= until AND minute < $1) AS oldest
			FROM history_merged FOR UPDATE`, before.UTC())
		if err != nil {
			return err
		}
		if more = merged.Oldest.Valid; !more {
			_, err = tx.ExecContext(ctx, `UPDATE history_merged SET until = $1, monitor_id = '' WHERE until < $1`, before.UTC())
			return err
		}
		begin := merged.Oldest.Time.UTC().Truncate(history.MergedLength)
		if begin.After(merged.Until) {
			merged.Behind = ""
		}
		_, err = tx.ExecContext(ctx, mergeMinutes, begin, begin.Add(history.MergedLength), merged.Behind, mergeBatch)
		return err
	})
	return more, err
}

// mergeMinutes merges the minutes from $1 until $2 of the next $4 monitors behind $3. With IN it would read those of all monitors.
const mergeMinutes = `
	WITH next AS (SELECT id FROM monitors WHERE id > $3 ORDER BY id LIMIT $4),
	merged AS (
		INSERT INTO history_ten_minutes (monitor_id, begins, ` + rangeColumns + `)
		SELECT monitor_id, $1, ` + mergedColumns + ` FROM history_minutes
		WHERE monitor_id = ANY (ARRAY(SELECT id FROM next)) AND minute >= $1 AND minute < $2 GROUP BY monitor_id
		ON CONFLICT DO NOTHING),
	progress AS (SELECT count(*) < $4 AS complete, max(id) AS behind FROM next)
	UPDATE history_merged SET until = CASE WHEN complete THEN $2 ELSE $1 END, monitor_id = CASE WHEN complete THEN '' ELSE behind END FROM progress`

// DeleteHistory implements histories.ExpiryStore. It skips rows that another gateway is
// deleting. A lane of a monitor that has ended goes with the spans of that time, and so do hints.
func (s *HistoryStore) DeleteHistory(ctx context.Context, before time.Time, limit int) (spans, minutes int, err error) {
	remove := func(statement string) int {
		var result sql.Result
		if err == nil {
			result, err = s.db.ExecContext(ctx, statement, before.UTC(), limit)
		}
		if err != nil {
			return 0
		}
		n, _ := result.RowsAffected() // pq always knows
		return int(n)
	}
	spans = remove(`
		DELETE FROM history_spans WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM history_spans WHERE ended_at < $1 ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED))`)
	spans += remove(`
		DELETE FROM history_lanes WHERE ctid = ANY (ARRAY(
			SELECT l.ctid FROM history_lanes l JOIN monitors m ON m.id = l.monitor_id WHERE m.ended_at < $1 LIMIT $2 FOR UPDATE OF l SKIP LOCKED))`)
	minutes = remove(`
		DELETE FROM history_minutes WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM history_minutes WHERE minute < GREATEST($1, ` + singlesFrom + `) ORDER BY minute LIMIT $2 FOR UPDATE SKIP LOCKED))`)
	remove(`
		DELETE FROM history_ten_minutes WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM history_ten_minutes WHERE begins < $1 ORDER BY begins LIMIT $2 FOR UPDATE SKIP LOCKED))`) // fewer than minutes
	remove(`
		DELETE FROM hints WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM hints WHERE ended_at < $1 ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED))`) // fewer still
	return spans, minutes, wrapError(ctx, "delete the expired history", err)
}
