package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// counted selects the spans that history.Totals counts: those of known segments, of
// blindness and pauses, and of the conditions of picture and sound.
const counted = `(lane = 'segments' AND state NOT IN ('unknown', 'paused') OR lane = 'stream' AND state IN ('blind', 'paused')
	OR lane IN ('video', 'audio') AND state NOT IN ('ok', 'unknown', 'none', 'paused'))`

// SumHistory implements histories.Store.
func (s *HistoryStore) SumHistory(ctx context.Context, of histories.Selection, now time.Time, sum *history.Summary) error {
	return s.db.inSnapshot(ctx, "sum up the history", func(tx *sqlx.Tx) error {
		if of.MonitorID != "" {
			if _, err := readLife(ctx, tx, of.MonitorID); err != nil {
				return err
			}
		}
		for _, add := range []func(context.Context, *sqlx.Tx, histories.Selection, *history.Summary) error{sumSpans, sumAlerts, sumIncidents} {
			if err := add(ctx, tx, of, sum); err != nil {
				return err
			}
		}
		return sumOpenSpans(ctx, tx, of, now, sum)
	})
}

// LabelValues implements histories.Store.
func (s *HistoryStore) LabelValues(ctx context.Context, label string, ids []monitor.ID) (map[monitor.ID]string, error) {
	var rows []struct {
		ID    monitor.ID `db:"id"`
		Value string     `db:"value"`
	}
	err := s.db.SelectContext(ctx, &rows, `SELECT id, labels ->> $1 AS value FROM monitors WHERE id = ANY ($2) AND labels ? $1`, label, pq.Array(ids))
	values := make(map[monitor.ID]string, len(rows))
	for _, r := range rows {
		values[r.ID] = r.Value
	}
	return values, wrapError(ctx, "read the label "+label, err)
}

// selected returns a condition on monitor_id, and its argument. It is the parameter with this number.
func selected(of histories.Selection, parameter int) (condition string, arg any) {
	switch {
	case of.MonitorID != "":
		return fmt.Sprintf(`monitor_id = $%d`, parameter), of.MonitorID
	case len(of.Labels) > 0:
		return fmt.Sprintf(`monitor_id IN (SELECT m.id FROM monitors m WHERE `+haveLabels+`)`, parameter), labels(of.Labels)
	}
	return fmt.Sprintf(`CAST($%d AS text) IS NULL`, parameter), nil
}

// sumBatch limits the monitors whose spans one statement sums up. A statement that reads a million of
// them would reach the statement timeout on a busy machine.
const sumBatch = 250

// sumMemory lets the planner take a hash table for the sums of a statement, which needs 3 MB. It expects
// many more sums, and would sort the spans.
const sumMemory = `SET LOCAL work_mem = '32MB'`

// sumSpans adds the spans of monitors. The database sums them up: of each monitor, and of
// all monitors those that begin in the same period and end in the same period. Periods and the times
// between them are numbered by their bounds.
func sumSpans(ctx context.Context, tx *sqlx.Tx, in histories.Selection, sum *history.Summary) error {
	whole, ids := sum.Whole(), []string{string(in.MonitorID)}
	if in.MonitorID == "" {
		ids = nil
		lived, args := `SELECT m.id FROM monitors m WHERE (m.ended_at IS NULL OR m.ended_at > CAST($1 AS timestamptz) - interval '1 day')`, []any{whole.From.UTC()}
		if len(in.Labels) > 0 {
			lived, args = lived+` AND `+fmt.Sprintf(haveLabels, 2), append(args, labels(in.Labels))
		}
		if err := tx.SelectContext(ctx, &ids, lived+` ORDER BY m.id`, args...); err != nil {
			return err
		}
	}
	bounds := boundsOf(sum)
	var of sql.NullString
	var mean history.Span
	var n int
	var from, to float64 // sums of seconds since the first period began
	if _, err := tx.ExecContext(ctx, sumMemory); err != nil {
		return err
	}
	for batch := range slices.Chunk(ids, sumBatch) {
		err := eachRow(ctx, tx, []any{&of, &mean.Lane, &mean.State, &n, &from, &to}, func() {
			mean.From, mean.To = whole.From.Add(seconds(from/float64(n))), whole.From.Add(seconds(to/float64(n)))
			if of.Valid {
				sum.AddSpansOf(monitor.ID(of.String), mean, n)
			} else {
				sum.AddSpansToPeriods(mean, n)
			}
		}, sumOfSpans, pq.Array(batch), whole.From.UTC(), whole.To.UTC(), bounds, float64(whole.From.UnixMicro())/1e6)
		if err != nil {
			return err
		}
	}
	return nil
}

// boundsOf returns the bounds of the periods as an argument.
func boundsOf(sum *history.Summary) any {
	bounds := sum.Bounds()
	for i := range bounds {
		bounds[i] = bounds[i].UTC()
	}
	return pq.Array(bounds)
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

var sumOfSpans = `
	SELECT monitor_id, lane, state, count(*), sum(date_part('epoch', began) - $5), sum(date_part('epoch', ended) - $5)
	FROM (SELECT monitor_id, lane, state, GREATEST(started_at, $2) AS began, LEAST(ended_at, $3) AS ended FROM history_spans
	      WHERE monitor_id = ANY ($1) AND ended_at > $2 AND started_at < $3 AND ` + counted + `) AS spans
	GROUP BY GROUPING SETS ((monitor_id, lane, state), (width_bucket(began, CAST($4 AS timestamptz[])), width_bucket(ended, $4), lane, state))`

func sumOpenSpans(ctx context.Context, tx *sqlx.Tx, in histories.Selection, now time.Time, sum *history.Summary) error {
	var of monitor.ID
	var lane history.Lane
	var open history.Open
	var until time.Time
	var seen, pausedUntil sql.NullTime
	condition, arg := selected(in, 1)
	return eachRow(ctx, tx, []any{&of, &lane, &open.State, &open.Since, &until, &seen, &pausedUntil}, func() {
		current := history.Current{Lanes: map[history.Lane]history.Open{lane: open}, Seen: timeOrZero(seen), PausedUntil: timeOrZero(pausedUntil)}
		for _, span := range history.Close(current, until) {
			sum.AddSpan(of, span)
		}
	}, `
		SELECT monitor_id, lane, state, since, COALESCE(ended_at, $2), COALESCE(reported_at, seen_at), paused_until
		FROM history_lanes JOIN monitors ON monitors.id = monitor_id
		WHERE `+condition+` AND `+counted, arg, now.UTC())
}

// sumStep is the time of the alerts of all monitors that one statement sums up.
const sumStep = 5 * 24 * time.Hour

// sumAlerts adds the alerts that give their onset, as sumSpans does: those of each monitor, and those
// of all monitors in each period.
func sumAlerts(ctx context.Context, tx *sqlx.Tx, in histories.Selection, sum *history.Summary) error {
	types := []string{string(event.SegmentError)}
	for _, d := range detector.Table {
		types = append(types, d.Alert)
	}
	bounds := boundsOf(sum)
	var of sql.NullString
	var at time.Time
	var alerts history.Delay
	var total, longest float64
	whole, step := sum.Whole(), sumStep
	if in.MonitorID != "" {
		step = max(sumStep, whole.To.Sub(whole.From))
	}
	condition, arg := selected(in, 1)
	for begin := whole.From; begin.Before(whole.To); begin = begin.Add(step) {
		end := begin.Add(step)
		if end.After(whole.To) {
			end = whole.To
		}
		err := eachRow(ctx, tx, []any{&of, &at, &alerts.N, &total, &longest}, func() {
			alerts.Sum, alerts.Max = seconds(total), seconds(longest)
			if of.Valid {
				sum.AddAlertsOf(monitor.ID(of.String), at, alerts)
			} else {
				sum.AddAlertsToPeriods(at, alerts)
			}
		}, `
			SELECT monitor_id, min(created_at), count(*), sum(delay), max(delay)
			FROM (SELECT monitor_id, created_at, GREATEST(0, date_part('epoch', created_at - CAST(payload->'data'->>'started_at' AS timestamptz))) AS delay
			      FROM monitor_events
			      WHERE created_at >= $2 AND created_at < $3 AND event_type = ANY($4) AND `+condition+` AND payload->'data' ? 'started_at') AS alerts
			GROUP BY GROUPING SETS ((monitor_id), (width_bucket(created_at, CAST($5 AS timestamptz[]))))`,
			arg, begin.UTC(), end.UTC(), pq.Array(types), bounds)
		if err != nil {
			return err
		}
	}
	return nil
}

func sumIncidents(ctx context.Context, tx *sqlx.Tx, in histories.Selection, sum *history.Summary) error {
	var of monitor.ID
	condition, arg := selected(in, 1)
	var openedAt time.Time
	whole := sum.Whole()
	return eachRow(ctx, tx, []any{&of, &openedAt}, func() { sum.AddIncident(of, openedAt) }, `
		SELECT monitor_id, opened_at FROM incidents
		WHERE opened_at >= $2 AND opened_at < $3 AND `+condition, arg, whole.From.UTC(), whole.To.UTC())
}
