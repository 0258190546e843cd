package postgres

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// storeHistory stores what reports of different monitors add to their histories.
func storeHistory(ctx context.Context, tx *sqlx.Tx, all []found) error {
	var states, minutes []found
	for _, f := range all {
		if f.applied {
			states = append(states, f)
		}
		if f.report != nil && len(f.report.Minutes) > 0 {
			minutes = append(minutes, f)
		}
	}
	if len(states) > 0 {
		if err := storeStates(ctx, tx, states); err != nil {
			return err
		}
	}
	if len(minutes) == 0 {
		return nil
	}
	return storeMinutes(ctx, tx, minutes)
}

// storeStates stores the states of the lanes after reports, and the spans they close.
func storeStates(ctx context.Context, tx *sqlx.Tx, all []found) error {
	ids := make([]monitor.ID, 0, len(all))
	for _, h := range all {
		ids = append(ids, h.monitor.id)
	}
	lanes, err := readLanes(ctx, tx, ids...)
	if err != nil {
		return err
	}
	var changed laneChanges
	for _, h := range all {
		before := history.Current{Lanes: lanes[h.monitor.id], Seen: h.monitor.seenAt, PausedUntil: h.monitor.pausedUntil}
		after, closed := history.Observe(before, *h.report)
		changed.add(h.monitor.id, before.Lanes, after.Lanes, closed)
	}
	return changed.store(ctx, tx)
}

// readLanes reads the present states of monitors.
func readLanes(ctx context.Context, tx *sqlx.Tx, ids ...monitor.ID) (map[monitor.ID]map[history.Lane]history.Open, error) {
	var rows []struct {
		ID    monitor.ID    `db:"monitor_id"`
		Lane  history.Lane  `db:"lane"`
		State history.State `db:"state"`
		Since time.Time     `db:"since"`
	}
	if err := tx.SelectContext(ctx, &rows, `SELECT monitor_id, lane, state, since FROM history_lanes WHERE monitor_id = ANY ($1)`, pq.Array(ids)); err != nil {
		return nil, err
	}
	lanes := map[monitor.ID]map[history.Lane]history.Open{}
	for _, id := range ids {
		lanes[id] = map[history.Lane]history.Open{}
	}
	for _, r := range rows {
		lanes[r.ID][r.Lane] = history.Open{State: r.State, Since: r.Since}
	}
	return lanes, nil
}

// laneChanges are the changes of the lanes of several monitors.
type laneChanges struct {
	closed  laneRows
	opened  laneRows     // from is when the state began
	removed []monitor.ID // have no lanes any more
}

// laneRows holds the columns of rows of history_lanes or history_spans.
type laneRows struct {
	ids, lanes, states []string
	from, to           []time.Time
}

func (r *laneRows) add(id monitor.ID, lane history.Lane, state history.State, from, to time.Time) {
	r.ids, r.lanes, r.states = append(r.ids, string(id)), append(r.lanes, string(lane)), append(r.states, string(state))
	r.from, r.to = append(r.from, from.UTC()), append(r.to, to.UTC())
}

// add adds what differs of a monitor. A heartbeat adds nothing.
func (c *laneChanges) add(id monitor.ID, before, after map[history.Lane]history.Open, closed []history.Span) {
	for _, s := range closed {
		c.closed.add(id, s.Lane, s.State, s.From, s.To)
	}
	if len(after) == 0 && len(before) > 0 {
		c.removed = append(c.removed, id)
	}
	for _, lane := range history.Lanes() {
		if open, ok := after[lane]; ok && open != before[lane] {
			c.opened.add(id, lane, open.State, open.Since, time.Time{})
		}
	}
}

func (c *laneChanges) store(ctx context.Context, tx *sqlx.Tx) error {
	if s := c.closed; len(s.ids) > 0 {
		// A span that is stored already is of a report whose answer was lost.
		_, err := tx.ExecContext(ctx, `
			INSERT INTO history_spans (monitor_id, lane, state, started_at, ended_at)
			SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[])
			ON CONFLICT DO NOTHING`, pq.Array(s.ids), pq.Array(s.lanes), pq.Array(s.states), pq.Array(s.from), pq.Array(s.to))
		if err != nil {
			return err
		}
	}
	if len(c.removed) > 0 {
		if _, err := tx.ExecContext(ctx, `DELETE FROM history_lanes WHERE monitor_id = ANY ($1)`, pq.Array(c.removed)); err != nil {
			return err
		}
	}
	s := c.opened
	if len(s.ids) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO history_lanes (monitor_id, lane, state, since)
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
		ON CONFLICT (monitor_id, lane) DO UPDATE SET state = excluded.state, since = excluded.since`,
		pq.Array(s.ids), pq.Array(s.lanes), pq.Array(s.states), pq.Array(s.from))
	return err
}

// storeMinutes stores minutes in one statement. Of two with the same times, the one with
// more measurements counts. Storing one twice, or out of order, therefore changes nothing.
func storeMinutes(ctx context.Context, tx *sqlx.Tx, all []found) error {
	var ids []string
	var at, since []time.Time
	var luma, level ranges
	for _, h := range all {
		for _, m := range h.report.Minutes {
			ids, at, since = append(ids, string(h.monitor.id)), append(at, m.At.UTC()), append(since, roundToMicroseconds(m.Since).UTC())
			luma.add(m.Luma)
			level.add(m.Level)
		}
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO history_minutes (monitor_id, minute, since, luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n)
		SELECT DISTINCT ON (monitor_id, minute, since) reported.*
		FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::real[], $5::real[], $6::real[], $7::int[], $8::real[], $9::real[], $10::real[], $11::int[])
			AS reported (monitor_id, minute, since, luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n)
		ORDER BY monitor_id, minute, since, luma_n + level_n DESC
		ON CONFLICT (monitor_id, minute, since) DO UPDATE SET
			luma_min = excluded.luma_min, luma_mean = excluded.luma_mean, luma_max = excluded.luma_max, luma_n = excluded.luma_n,
			level_min = excluded.level_min, level_mean = excluded.level_mean, level_max = excluded.level_max, level_n = excluded.level_n
		WHERE history_minutes.luma_n + history_minutes.level_n < excluded.luma_n + excluded.level_n`,
		pq.Array(ids), pq.Array(at), pq.Array(since),
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
