package postgres

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
)

// takeRequest is the generic cell rate algorithm (ITU-T I.371) in one statement, by
// the database's clock. $3 is the interval between two requests at the full rate,
// in seconds, $4 the interval of a whole limit. arrival_at is the theoretical
// arrival time, when the limit is unused again. A request adds $3 to it and is
// allowed if the result is at most $4 from now.
//
// An arrival_at further in the future than any request can set it was stored
// before the clock was set back, and is ignored. The factor 2 allows for now()
// being older than the row in a statement that waited for it.
//
// wait is as of the begin of the statement; NULL: the client was unknown.
const takeRequest = `
	WITH allowed AS (
		INSERT INTO rate_limits AS r (client, budget, arrival_at)
		VALUES ($1, $2, now() + make_interval(secs => $3))
		ON CONFLICT (client, budget) DO UPDATE
		SET arrival_at = make_interval(secs => $3) + CASE
			WHEN r.arrival_at BETWEEN now() AND now() + 2 * make_interval(secs => $4) THEN r.arrival_at
			ELSE now() END
		WHERE r.arrival_at + make_interval(secs => $3) <= now() + make_interval(secs => $4)
		   OR r.arrival_at > now() + 2 * make_interval(secs => $4)
		RETURNING true)
	SELECT EXISTS (SELECT FROM allowed) AS allowed,
	       (SELECT EXTRACT(EPOCH FROM arrival_at + make_interval(secs => $3) - make_interval(secs => $4) - now())
	        FROM rate_limits WHERE client = $1 AND budget = $2) AS wait`

// deleteIdleClients deletes up to $1 clients whose limits have been unused for an
// hour. It skips rows that are locked.
const deleteIdleClients = `
	DELETE FROM rate_limits WHERE (client, budget) IN (
		SELECT client, budget FROM rate_limits
		WHERE arrival_at < now() - interval '1 hour'
		LIMIT $1
		FOR UPDATE SKIP LOCKED)`

// Limits of deleteIdleClients, which reads the whole table if few clients are idle.
const (
	cleanupInterval = time.Minute
	cleanupBatch    = 1000
)

// RateLimiter counts the requests of clients, for all gateways together.
type RateLimiter struct {
	db          *database
	lastCleanup atomic.Pointer[time.Time] // nil: a cleanup is due
}

// Allow implements registry.RateLimiter. Repeated after an error it may count two
// requests. An unknown client triggers a cleanup, which bounds the table to
// about the clients of one hour.
func (r *RateLimiter) Allow(ctx context.Context, client registry.Client, budget registry.RateLimit, perMin int) (time.Duration, error) {
	// PostgreSQL has microseconds; truncated intervals add up to the whole limit.
	interval := (time.Minute / time.Duration(perMin)).Truncate(time.Microsecond)
	whole := interval * time.Duration(perMin)
	var found struct {
		Allowed bool            `db:"allowed"`
		Wait    sql.NullFloat64 `db:"wait"`
	}
	if err := r.db.GetContext(ctx, &found, takeRequest, client[:], budget, interval.Seconds(), whole.Seconds()); err != nil {
		return 0, wrapError(ctx, "check a rate limit", err)
	}
	if !found.Wait.Valid {
		r.cleanUp(ctx)
	}
	wait := time.Duration(found.Wait.Float64 * float64(time.Second))
	switch {
	case found.Allowed:
		return 0, nil
	case wait <= 0: // another request used the limit up while this one waited for the row
		return interval, nil
	}
	return wait, nil
}

// Return implements registry.RateLimiter. Repeated after an error it may return
// two requests.
func (r *RateLimiter) Return(ctx context.Context, client registry.Client, limit registry.RateLimit, perMin int) error {
	interval := (time.Minute / time.Duration(perMin)).Truncate(time.Microsecond)
	_, err := r.db.ExecContext(ctx, `
		UPDATE rate_limits SET arrival_at = arrival_at - make_interval(secs => $3) WHERE client = $1 AND budget = $2`,
		client[:], limit, interval.Seconds())
	return wrapError(ctx, "return a request to a rate limit", err)
}

// cleanUp deletes idle clients, unless that was done less than cleanupInterval ago
// and left none.
func (r *RateLimiter) cleanUp(ctx context.Context) {
	last, now := r.lastCleanup.Load(), time.Now()
	if last != nil && now.Sub(*last) < cleanupInterval || !r.lastCleanup.CompareAndSwap(last, &now) {
		return
	}
	result, err := r.db.ExecContext(ctx, deleteIdleClients, cleanupBatch)
	if err != nil {
		r.db.log.Warn("idle clients could not be deleted from rate_limits; tried again in a minute", "error", err)
		return
	}
	if n, err := result.RowsAffected(); err == nil && n == cleanupBatch {
		r.lastCleanup.Store(nil) // there may be more
	}
}
