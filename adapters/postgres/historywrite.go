package postgres

import (
	"context"
	"maps"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// storeHistory stores what a report adds to the history of a locked monitor. applied
// says that the report gives the present state: it is no overtaken report. States or
// minutes that the server refuses are logged and left out, each without the other; the
// report and its events are stored.
func (db *database) storeHistory(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, r monitor.Report, applied bool) error {
	part := func(name string, store func() error) error {
		return db.optionally(ctx, tx, store, func(err error) {
			db.log.Warn("the "+name+" of a report could not be stored and are left out, the report and its events are stored: report the defect with error",
				"monitor_id", string(m.id), "error", err.Error())
		})
	}
	if applied {
		if err := part("states", func() error { return storeStates(ctx, tx, m, r) }); err != nil {
			return err
		}
	}
	if len(r.Minutes) == 0 {
		return nil
	}
	return part("luma and level", func() error { return storeMinutes(ctx, tx, m.id, r.Minutes) })
}

// storeStates stores the states of the lanes after a report, and the spans it closes.
func storeStates(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, r monitor.Report) error {
	lanes, err := readLanes(ctx, tx, m.id)
	if err != nil {
		return err
	}
	before := history.Current{Lanes: lanes, Seen: m.seenAt}
	after, closed := history.Observe(before, r)
	if len(closed) == 0 && maps.Equal(after.Lanes, before.Lanes) {
		return nil // a heartbeat
	}
	return storeSpans(ctx, tx, m.id, before, after, closed)
}

func readLanes(ctx context.Context, tx *sqlx.Tx, id monitor.ID) (map[history.Lane]history.Open, error) {
	var rows []struct {
		Lane  history.Lane  `db:"lane"`
		State history.State `db:"state"`
		Since time.Time     `db:"since"`
	}
	if err := tx.SelectContext(ctx, &rows, `SELECT lane, state, since FROM history_lanes WHERE monitor_id = $1`, id); err != nil {
		return nil, err
	}
	lanes := map[history.Lane]history.Open{}
	for _, r := range rows {
		lanes[r.Lane] = history.Open{State: r.State, Since: r.Since}
	}
	return lanes, nil
}

func storeSpans(ctx context.Context, tx *sqlx.Tx, id monitor.ID, before, after history.Current, closed []history.Span) error {
	if len(closed) > 0 {
		var lanes, states []string
		var from, to []time.Time
		for _, s := range closed {
			lanes, states = append(lanes, string(s.Lane)), append(states, string(s.State))
			from, to = append(from, s.From.UTC()), append(to, s.To.UTC())
		}
		// A span that is stored already is of a report whose answer was lost.
		_, err := tx.ExecContext(ctx, `
			INSERT INTO history_spans (monitor_id, lane, state, started_at, ended_at)
			SELECT $1, * FROM unnest($2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[])
			ON CONFLICT DO NOTHING`, id, pq.Array(lanes), pq.Array(states), pq.Array(from), pq.Array(to))
		if err != nil {
			return err
		}
	}
	if len(after.Lanes) == 0 && len(before.Lanes) > 0 {
		_, err := tx.ExecContext(ctx, `DELETE FROM history_lanes WHERE monitor_id = $1`, id)
		return err
	}
	for _, lane := range history.Lanes() {
		open, known := after.Lanes[lane]
		if !known || open == before.Lanes[lane] {
			continue
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO history_lanes (monitor_id, lane, state, since) VALUES ($1, $2, $3, $4)
			ON CONFLICT (monitor_id, lane) DO UPDATE SET state = excluded.state, since = excluded.since`,
			id, lane, open.State, open.Since.UTC())
		if err != nil {
			return err
		}
	}
	return nil
}

// storeMinutes stores minutes in one statement. Of two with the same times, the one with
// more measurements counts. Storing one twice, or out of order, therefore changes nothing.
func storeMinutes(ctx context.Context, tx *sqlx.Tx, id monitor.ID, minutes []monitor.Minute) error {
	var at, since []time.Time
	var luma, level ranges
	for _, m := range minutes {
		at, since = append(at, m.At.UTC()), append(since, roundToMicroseconds(m.Since).UTC())
		luma.add(m.Luma)
		level.add(m.Level)
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO history_minutes (monitor_id, minute, since, luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n)
		SELECT DISTINCT ON (minute, since) $1, reported.*
		FROM unnest($2::timestamptz[], $3::timestamptz[], $4::real[], $5::real[], $6::real[], $7::int[], $8::real[], $9::real[], $10::real[], $11::int[])
			AS reported (minute, since, luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n)
		ORDER BY minute, since, luma_n + level_n DESC
		ON CONFLICT (monitor_id, minute, since) DO UPDATE SET
			luma_min = excluded.luma_min, luma_mean = excluded.luma_mean, luma_max = excluded.luma_max, luma_n = excluded.luma_n,
			level_min = excluded.level_min, level_mean = excluded.level_mean, level_max = excluded.level_max, level_n = excluded.level_n
		WHERE history_minutes.luma_n + history_minutes.level_n < excluded.luma_n + excluded.level_n`,
		id, pq.Array(at), pq.Array(since),
		pq.Array(luma.min), pq.Array(luma.mean), pq.Array(luma.max), pq.Array(luma.n),
		pq.Array(level.min), pq.Array(level.mean), pq.Array(level.max), pq.Array(level.n))
	return err
}

// ranges holds the columns of several ranges.
type ranges struct {
	min, mean, max []float64
	n              []int64
}

func (r *ranges) add(one monitor.Range) {
	r.min, r.mean, r.max, r.n = append(r.min, one.Min), append(r.mean, one.Mean), append(r.max, one.Max), append(r.n, int64(one.N))
}
