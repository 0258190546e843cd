package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// FeedStore reads the feed.
type FeedStore struct{ db *database }

// feedOrigin identifies what has numbered the entries: the server, its timeline and
// the table. A restored dump has another table or server. A recovery to a point in
// time, and a standby that takes over, begin another timeline.
const feedOrigin = `
	SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
	                 left(pg_walfile_name(pg_current_wal_lsn()), 8), CAST(CAST('feed' AS regclass) AS oid)) AS origin`

// RenewFeedEpoch implements feeds.Store. It locks feed_head only if the epoch changes.
func (s *FeedStore) RenewFeedEpoch(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `
		UPDATE feed_head SET epoch = gen_random_uuid(), origin = present.origin
		FROM (`+feedOrigin+`) AS present WHERE feed_head.origin <> present.origin
		RETURNING pg_notify('`+feedChannel+`', '')`)
	return wrapError(ctx, "compare the origin of the feed", err)
}

// ReadFeed implements feeds.Store.
func (s *FeedStore) ReadFeed(ctx context.Context, after int64, limit int) (feed.Page, error) {
	var rows []struct {
		Epoch   string         `db:"epoch"`
		Head    int64          `db:"head"`
		Version sql.NullInt64  `db:"version"` // NULL: there is no entry after
		Type    sql.NullString `db:"type"`
		At      sql.NullTime   `db:"at"`
		Data    []byte         `db:"data"`
	}
	err := s.db.SelectContext(ctx, &rows, `
		SELECT feed_head.epoch, feed_head.version AS head, entry.version, entry.type, entry.at, entry.data
		FROM feed_head LEFT JOIN LATERAL (
			SELECT version, type, at, data FROM feed WHERE version > $1 ORDER BY version LIMIT $2) AS entry ON true
		ORDER BY entry.version`, after, limit)
	if err != nil {
		return feed.Page{}, wrapError(ctx, "read the feed", err)
	}
	if len(rows) == 0 {
		return feed.Page{}, fmt.Errorf("read the feed: the table feed_head is empty")
	}
	page := feed.Page{Epoch: rows[0].Epoch, Head: rows[0].Head}
	for _, r := range rows {
		if r.Version.Valid {
			page.Entries = append(page.Entries, feed.Entry{Version: r.Version.Int64, Type: feed.Type(r.Type.String), At: r.At.Time.UTC(), Data: r.Data})
		}
	}
	return page, nil
}

// readChecker summarises the monitors that have a worker, and are not paused. A monitor is late if no
// report was accepted for $1 intervals. It is also late if its stream is live, nothing was
// learned of it for as long, and no failure says why. An interval is $2 s at least. The
// statistics are read only of a monitor that is late without them.
const readChecker = `
	WITH watched AS (
		SELECT m.id, m.seq, m.last_error, m.unseen, m.blind_since IS NOT NULL AS blind,
		       CASE WHEN m.updated_at < since.at THEN true
		            WHEN m.status <> 'monitoring' OR m.last_error <> '' OR greatest(m.last_observed_at, m.created_at, m.paused_until) >= since.at THEN false
		            ELSE (SELECT s.last_check_at >= since.at FROM monitor_stats s WHERE s.monitor_id = m.id) IS NOT TRUE END AS late
		FROM monitors m
		CROSS JOIN LATERAL (SELECT now() - make_interval(secs => $1 * greatest($2, CASE WHEN jsonb_typeof(m.config->'check_interval_sec') = 'number' THEN CAST(m.config->>'check_interval_sec' AS float8) END)) AS at) AS since
		WHERE m.` + activePredicate + ` AND m.reserved_until IS NULL AND (m.paused_until > now()) IS NOT TRUE)
	SELECT count(*) AS watched,
	       count(*) FILTER (WHERE blind) AS blind,
	       count(*) FILTER (WHERE late) AS late,
	       count(*) FILTER (WHERE last_error <> '') AS failing,
	       (SELECT COALESCE(json_agg(id), '[]') FROM (
	          SELECT id FROM watched WHERE late ORDER BY seq LIMIT $3) AS first) AS late_monitors,
	       (SELECT COALESCE(json_agg(json_build_object('error', error, 'monitors', n)), '[]') FROM (
	          SELECT left(last_error, 200) AS error, count(*) AS n FROM watched
	          WHERE last_error <> '' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT $4) AS frequent) AS failures,
	       (SELECT COALESCE(json_agg(json_build_object('class', class, 'egress', egress, 'since', since, 'monitors', n)), '[]') FROM (
	          SELECT unseen->>'class' AS class, unseen->>'egress' AS egress, min(unseen->>'since') AS since, count(*) AS n FROM watched
	          WHERE unseen->>'since' IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2) AS groups) AS unseen
	FROM watched`

// ReadChecker implements feeds.Store.
func (s *FeedStore) ReadChecker(ctx context.Context) (feed.Checker, error) {
	var row struct {
		Watched      int    `db:"watched"`
		Blind        int    `db:"blind"`
		Late         int    `db:"late"`
		Failing      int    `db:"failing"`
		LateMonitors []byte `db:"late_monitors"`
		Failures     []byte `db:"failures"`
		Unseen       []byte `db:"unseen"`
	}
	err := s.db.GetContext(ctx, &row, readChecker, feed.LateIntervals, feed.MinInterval.Seconds(), feed.MaxLateMonitors, feed.MaxFailures)
	if err != nil {
		return feed.Checker{}, wrapError(ctx, "read the state of the workers", err)
	}
	checker := feed.Checker{Watched: row.Watched, Blind: row.Blind, Late: row.Late, Failing: row.Failing}
	if err := json.Unmarshal(row.LateMonitors, &checker.LateMonitors); err != nil {
		return feed.Checker{}, fmt.Errorf("late monitors: %w", err)
	}
	if err := json.Unmarshal(row.Failures, &checker.Failures); err != nil {
		return feed.Checker{}, fmt.Errorf("failures: %w", err)
	}
	var groups []json.RawMessage
	if err := json.Unmarshal(row.Unseen, &groups); err != nil {
		return feed.Checker{}, fmt.Errorf("unseen monitors: %w", err)
	}
	var unseen []monitor.UnseenGroup
	for _, raw := range groups {
		var group monitor.UnseenGroup
		if err := json.Unmarshal(raw, &group); err != nil {
			logLeftOut(s.db.log, "monitors", string(raw), err)
			continue
		}
		unseen = append(unseen, group)
	}
	checker.BlindSpot = monitor.NewBlindSpot(unseen, row.Watched)
	return checker, nil
}

// maxFeedDelete is how many entries one DeleteFeed deletes at most.
const maxFeedDelete = 1000

// DeleteFeed deletes the oldest entries that are older than age, in one short
// statement, and returns how many. It stops at the first one that is younger, so that
// the rest has no gap. more reports whether it may be called again at once.
func (s *FeedStore) DeleteFeed(ctx context.Context, age time.Duration) (deleted int64, more bool, err error) {
	result, err := s.db.ExecContext(ctx, `
		WITH oldest AS (SELECT version, at FROM feed ORDER BY version LIMIT $2)
		DELETE FROM feed WHERE version <= (SELECT max(version) FROM oldest)
		  AND version < COALESCE((SELECT min(version) FROM oldest WHERE at > now() - make_interval(secs => $1)), 9223372036854775807)`,
		age.Seconds(), maxFeedDelete)
	if err == nil {
		deleted, err = result.RowsAffected()
	}
	return deleted, deleted == maxFeedDelete, wrapError(ctx, "delete old entries of the feed", err)
}
