package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// heads finds the head of every monitor's queue. It hops through
// idx_monitor_events_queue from monitor to monitor, so its cost is that of the
// monitors that have pending events, however many those are. It sorts by the
// whole key of that index, and hands the heads on as an array, so that the
// planner sees no reason to read a backlog through another index.
const heads = `
	WITH RECURSIVE head (id, monitor_id, seq) AS (
		(SELECT id, monitor_id, seq FROM monitor_events
		 WHERE webhook_status = 'pending'
		 ORDER BY monitor_id, seq LIMIT 1)
		UNION ALL
		SELECT next.id, next.monitor_id, next.seq
		FROM head CROSS JOIN LATERAL (
			SELECT e.id, e.monitor_id, e.seq FROM monitor_events e
			WHERE e.webhook_status = 'pending' AND e.monitor_id > head.monitor_id
			ORDER BY e.monitor_id, e.seq LIMIT 1) AS next)`

// mostLease is the longest lease that may be asked for.
const mostLease = 2 * time.Minute

// A time further ahead than it can have been set is left over from before the
// clock was set back. A retry is due then: it was 60 s away at most
// (deliver.MaxRetryAfter). A lease may be of a gateway that is sending; it is
// cut to a whole one from now. now() is a little old in a statement that had to
// wait, so both have a margin.
const (
	retryFar = `e.next_attempt_at > now() + interval '70 seconds'`
	leaseFar = `e.leased_until > now() + interval '130 seconds'`
)

// lease takes the due heads. What it finds is looked at again once locked, so
// an event that another gateway leased or finished meanwhile is passed over. So
// is one that was finished and then put at the end of its queue: it is pending
// again, but its seq as locked is not the one it was the head with. IS NOT
// DISTINCT FROM is an equality that no index offers itself for.
//
// What has been leased under one of the names $4, by an attempt whose answer got
// lost, is taken again, under the new name $3. Leases that are cut stay their
// holders'.
const lease = heads + `,
	due AS (
		SELECT e.id, e.seq FROM monitor_events e
		WHERE e.id = ANY (ARRAY(SELECT id FROM head)) AND e.webhook_status IS NOT DISTINCT FROM 'pending'
		  AND (e.lease = ANY (CAST($4 AS uuid[])) OR (e.next_attempt_at <= now() OR ` + retryFar + `)
		       AND (e.leased_until IS NULL OR e.leased_until <= now() OR ` + leaseFar + `))
		ORDER BY e.next_attempt_at, e.seq
		LIMIT $1
		FOR UPDATE OF e SKIP LOCKED)
	UPDATE monitor_events e
	SET leased_until = now() + make_interval(secs => $2),
	    lease = CASE WHEN ` + leaseFar + ` AND e.lease <> ALL (CAST($4 AS uuid[])) THEN e.lease ELSE $3 END
	FROM monitors m
	WHERE e.id = ANY (ARRAY(SELECT id FROM due JOIN head USING (id, seq))) AND m.id = e.monitor_id
	RETURNING e.id, e.event_type, e.monitor_id, m.callback_url, e.body, e.webhook_attempts, e.seq, e.lease`

type letterRow struct {
	ID          string         `db:"id"`
	EventType   string         `db:"event_type"`
	MonitorID   string         `db:"monitor_id"`
	CallbackURL string         `db:"callback_url"`
	Body        string         `db:"body"`
	Attempts    int            `db:"webhook_attempts"`
	Seq         int64          `db:"seq"`
	Lease       sql.NullString `db:"lease"`
}

// Lease implements deliver.Outbox. What an attempt took whose answer got lost, or
// still takes because the server was slow, the next Lease of this store takes
// that finds it.
func (s *Store) Lease(ctx context.Context, limit int, term time.Duration) ([]delivery.Delivery, error) {
	if term > mostLease {
		return nil, fmt.Errorf("lease pending events for %v: the longest lease is %v", term, mostLease)
	}
	asked := time.Now()
	t := s.unsure.take()
	var rows []letterRow
	err := s.db.SelectContext(ctx, &rows, lease, limit, term.Seconds(), newName{t}, unsureNames{t})
	if err != nil {
		s.unsure.lost(t.tried, time.Now().Add(term))
		return nil, explain(ctx, "lease pending events", err)
	}
	name := t.tried[len(t.tried)-1]
	if broken := t.tried[:len(t.tried)-1]; len(broken) > 0 {
		s.unsure.lost(broken, time.Now().Add(term))
	}
	s.unsure.answered(asked)
	rows = slices.DeleteFunc(rows, func(r letterRow) bool { return r.Lease.String != name })
	slices.SortFunc(rows, func(a, b letterRow) int { return cmp.Compare(a.Seq, b.Seq) })
	letters := make([]delivery.Delivery, 0, len(rows))
	for _, r := range rows {
		letters = append(letters, delivery.Delivery{
			EventID:     r.ID,
			EventType:   event.Type(r.EventType),
			MonitorID:   monitor.ID(r.MonitorID),
			CallbackURL: monitor.CallbackURL(r.CallbackURL),
			Body:        []byte(r.Body),
			Attempts:    r.Attempts,
			Lease:       name,
		})
	}
	return letters, nil
}

// ticket is what one Lease asks under. When a connection breaks, the pool sends
// the statement again, and evaluates its arguments for that: so each sending has
// a name of its own, and what the earlier ones took is known by theirs.
type ticket struct {
	holder holder
	unsure []string
	tried  []string // the last is that of the sending under way
}

// newName is an argument: a name for this sending.
type newName struct{ *ticket }

// Value implements driver.Valuer.
func (n newName) Value() (driver.Value, error) {
	name := n.holder.name()
	n.tried = append(n.tried, name)
	return name, nil
}

// unsureNames is an argument: all names under which something may have been
// taken that nobody sends.
type unsureNames struct{ *ticket }

// Value implements driver.Valuer.
func (u unsureNames) Value() (driver.Value, error) {
	return pq.StringArray(slices.Concat(u.unsure, u.tried)).Value()
}

// mostUnsure is how many names of lost leases are asked for: those of more than
// the time for which a stalled server keeps one open.
const mostUnsure = 100

// tokens are the names of leases whose answers got lost. A server that was slow
// may yet take them, when others have been answered; so they are asked for until
// an answer comes when the last of them would be over.
type tokens struct {
	mu     sync.Mutex
	holder holder
	names  []string
	until  time.Time // when the last would be over
}

// belong says whose leases are named from now on.
func (t *tokens) belong(h holder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holder, t.names = h, nil
}

func (t *tokens) take() *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &ticket{holder: t.holder, unsure: slices.Clone(t.names)}
}

// lost adds names of leases that are over at until, at the latest.
func (t *tokens) lost(names []string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names = append(t.names, names...)
	t.names = t.names[max(len(t.names)-mostUnsure, 0):]
	if until.After(t.until) {
		t.until = until
	}
}

// answered says that a lease was answered which was asked for at that time.
func (t *tokens) answered(asked time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !asked.Before(t.until) {
		t.names = nil
	}
}
