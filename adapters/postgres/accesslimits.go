package postgres

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
)

// takeRequest counts a request by the generic cell rate algorithm (ITU-T I.371), with the
// database's clock. arrival_at is the algorithm's theoretical arrival time: from then on
// a client may again make all requests of the limit at once. $3 is the interval between
// requests at the full rate. $4 is the window, in which the limit allows one request for
// each interval. Both are in seconds. A request moves arrival_at $3 into the future. The
// request is allowed if arrival_at is then at most $4 from now.
//
// wait is the time until a request is allowed, as it was when the statement began. It is
// NULL if the table does not have the client. The column budget is the monitors.RateLimit.
const takeRequest = `
	WITH allowed AS (
		INSERT INTO rate_limits AS r (client, budget, arrival_at)
		VALUES ($1, $2, now() + make_interval(secs => $3))
		ON CONFLICT (client, budget) DO UPDATE
		SET arrival_at = make_interval(secs => $3) + GREATEST(r.arrival_at, now())
		WHERE r.arrival_at + make_interval(secs => $3) <= now() + make_interval(secs => $4)
		RETURNING true)
	SELECT EXISTS (SELECT FROM allowed) AS allowed,
	       (SELECT EXTRACT(EPOCH FROM arrival_at + make_interval(secs => $3) - make_interval(secs => $4) - now())
	        FROM rate_limits WHERE client = $1 AND budget = $2) AS wait`

// deleteIdleClients deletes up to $1 clients that made no request in the last hour. It
// skips locked rows.
const deleteIdleClients = `
	DELETE FROM rate_limits WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM rate_limits
		WHERE arrival_at < now() - interval '1 hour'
		LIMIT $1
		FOR UPDATE SKIP LOCKED))`

// cleanupInterval limits how often deleteIdleClients runs, because it reads the whole
// table if few clients are idle. cleanupBatch limits the rows that it deletes.
const (
	cleanupInterval = time.Minute
	cleanupBatch    = 1000
)

// RateLimitStore counts the requests of clients, for all gateways together.
type RateLimitStore struct {
	db          *database
	lastCleanup atomic.Pointer[time.Time] // nil: the next cleanup need not wait
}

// Allow implements monitors.RateLimitStore. If it is repeated after an error, it may count two
// requests. Allow deletes idle clients when it meets an unknown client. So the table
// keeps about the clients of the last hour.
func (r *RateLimitStore) Allow(ctx context.Context, client monitors.Client, limit monitors.RateLimit, perMin int) (time.Duration, error) {
	interval := requestInterval(perMin)
	window := interval * time.Duration(perMin)
	var found struct {
		Allowed bool            `db:"allowed"`
		Wait    sql.NullFloat64 `db:"wait"`
	}
	if err := r.db.GetContext(ctx, &found, takeRequest, client[:], limit, interval.Seconds(), window.Seconds()); err != nil {
		return 0, wrapError(ctx, "check a rate limit", err)
	}
	if !found.Wait.Valid {
		r.cleanUp(ctx)
	}
	wait := time.Duration(found.Wait.Float64 * float64(time.Second))
	switch {
	case found.Allowed:
		return 0, nil
	case wait <= 0: // another request used up the limit after this statement had begun
		return interval, nil
	}
	return wait, nil
}

// Refund implements monitors.RateLimitStore. If it is repeated after an error, it may take
// back two requests.
func (r *RateLimitStore) Refund(ctx context.Context, client monitors.Client, limit monitors.RateLimit, perMin int) error {
	_, err := r.db.ExecContext(ctx, `
		UPDATE rate_limits SET arrival_at = arrival_at - make_interval(secs => $3) WHERE client = $1 AND budget = $2`,
		client[:], limit, requestInterval(perMin).Seconds())
	return wrapError(ctx, "take back a request from a rate limit", err)
}

// requestInterval is the time between two requests at the full rate. It is rounded down to
// microseconds, because PostgreSQL stores no fractions of them. A multiple of it is then
// exact.
func requestInterval(perMin int) time.Duration {
	return (time.Minute / time.Duration(perMin)).Truncate(time.Microsecond)
}

// cleanUp deletes idle clients. It does nothing for cleanupInterval after a cleanup that
// deleted all of them.
func (r *RateLimitStore) cleanUp(ctx context.Context) {
	last, now := r.lastCleanup.Load(), time.Now()
	if last != nil && now.Sub(*last) < cleanupInterval || !r.lastCleanup.CompareAndSwap(last, &now) {
		return
	}
	result, err := r.db.ExecContext(ctx, deleteIdleClients, cleanupBatch)
	if err != nil {
		r.db.log.Warn("idle clients could not be deleted from the table rate_limits; the gateway tries again after a minute", "error", err)
		return
	}
	if n, err := result.RowsAffected(); err == nil && n == cleanupBatch {
		r.lastCleanup.Store(nil) // more idle clients may be left
	}
}
