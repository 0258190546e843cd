package postgres

import (
	"context"
	"database/sql"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
)

// spend is the generic cell rate algorithm (ITU-T I.371) in one statement, by
// the clock of the database. $3 is in how many seconds one request grows back,
// $4 in how many the whole budget does, and arrival_at is when it will be whole.
// A request moves that by $3, and is taken if it then is within $4 from now.
//
// An arrival that is further away than it can have been set is left over from
// before the clock was set back; it counts as none. The distance is doubled
// because now() is a little old in a statement that had to wait for the row.
//
// wait is as of the statement's beginning; NULL: the client was not known.
const spend = `
	WITH spent AS (
		INSERT INTO rate_limits AS r (client, budget, arrival_at)
		VALUES ($1, $2, now() + make_interval(secs => $3))
		ON CONFLICT (client, budget) DO UPDATE
		SET arrival_at = make_interval(secs => $3) + CASE
			WHEN r.arrival_at BETWEEN now() AND now() + 2 * make_interval(secs => $4) THEN r.arrival_at
			ELSE now() END
		WHERE r.arrival_at + make_interval(secs => $3) <= now() + make_interval(secs => $4)
		   OR r.arrival_at > now() + 2 * make_interval(secs => $4)
		RETURNING true)
	SELECT EXISTS (SELECT FROM spent) AS taken,
	       (SELECT EXTRACT(EPOCH FROM arrival_at + make_interval(secs => $3) - make_interval(secs => $4) - now())
	        FROM rate_limits WHERE client = $1 AND budget = $2) AS wait`

// forget removes clients whose budgets have long been whole, at most $1. It
// waits for nobody who is spending.
const forget = `
	DELETE FROM rate_limits WHERE (client, budget) IN (
		SELECT client, budget FROM rate_limits
		WHERE arrival_at < now() - interval '1 hour'
		LIMIT $1
		FOR UPDATE SKIP LOCKED)`

// Bounds on forgetting: it reads the whole table when there is little to find.
const (
	forgetEvery  = time.Minute
	forgetAtOnce = 1000
)

// Spend implements control.Limiter. Repeated after an error it may take two. A
// client that was not known makes room for itself, so that there are never many
// more than were seen in an hour.
func (s *Store) Spend(ctx context.Context, client registry.Client, budget registry.Budget, perMin int) (time.Duration, error) {
	// The database counts microseconds, and whole ones add up to the budget.
	one := (time.Minute / time.Duration(perMin)).Truncate(time.Microsecond)
	whole := one * time.Duration(perMin)
	var found struct {
		Taken bool            `db:"taken"`
		Wait  sql.NullFloat64 `db:"wait"`
	}
	if err := s.db.GetContext(ctx, &found, spend, client[:], budget, one.Seconds(), whole.Seconds()); err != nil {
		return 0, explain(ctx, "spend from a budget", err)
	}
	if !found.Wait.Valid {
		s.makeRoom(ctx)
	}
	wait := time.Duration(found.Wait.Float64 * float64(time.Second))
	switch {
	case found.Taken:
		return 0, nil
	case wait <= 0: // another request took the last one while this one waited for the row
		return one, nil
	}
	return wait, nil
}

// makeRoom forgets clients, unless that was done less than forgetEvery ago and
// left none.
func (s *Store) makeRoom(ctx context.Context) {
	last, now := s.forgot.Load(), time.Now()
	if last != nil && now.Sub(*last) < forgetEvery || !s.forgot.CompareAndSwap(last, &now) {
		return
	}
	result, err := s.db.ExecContext(ctx, forget, forgetAtOnce)
	if err != nil {
		s.log.Warn("clients not seen for long could not be forgotten", "error", err)
		return
	}
	if n, err := result.RowsAffected(); err == nil && n == forgetAtOnce {
		s.forgot.Store(nil) // there may be more
	}
}
