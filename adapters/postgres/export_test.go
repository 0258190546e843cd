package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/migrations"
)

// These are for the tests of this package.
var CompleteDSN = completeDSN

const (
	ClaimBatch = claimBatch
	PlaceDue   = placeDue
)

// ShortenTimeouts makes a store detect a lost listening connection, and the server
// an unused leader, within a second or two.
func (s *Store) ShortenTimeouts() {
	s.keepAliveInterval, s.keepAliveTimeout = 100*time.Millisecond, 2*time.Second
	s.idleTimeout = time.Second
}

// InsertEvent stores an event of a monitor that was sent, and nothing else of it.
func (s *Store) InsertEvent(ctx context.Context, id monitor.ID, eventID string) error {
	_, err := s.db.ExecContext(ctx, `
		WITH added AS (
			INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
			VALUES ($1, $2, 'alert.blackout', '{}', '{}', 'sent', now())
			RETURNING *)
		INSERT INTO deliveries (id, monitor_id, event_id, state, created_at) SELECT id, monitor_id, id, 'delivered', created_at FROM added`, eventID, id)
	return err
}

// ChangeEvent adds a change of an event to the feed, in a transaction that takes time before.
func (s *Store) ChangeEvent(ctx context.Context, after time.Duration, eventID string) error {
	return s.db.inTx(ctx, "add to the feed", func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, `SELECT txid_current(), pg_sleep($1)`, after.Seconds()); err != nil {
			return err
		}
		return addToFeed(ctx, tx, deliveryChange(eventID))
	})
}

// ChangeEventAndRollBack does so in a transaction that is rolled back.
func (s *Store) ChangeEventAndRollBack(ctx context.Context, eventID string) {
	_ = s.db.inTx(ctx, "add to the feed", func(tx *sqlx.Tx) error {
		return errors.Join(addToFeed(ctx, tx, deliveryChange(eventID)), errors.New("rolled back"))
	})
}

// Routing returns what routing returns to a transaction.
func (s *Store) Routing(ctx context.Context) (notify.Routing, error) {
	return s.db.routing.current(ctx, s.db)
}

// InTx runs work in a transaction.
func (s *Store) InTx(ctx context.Context, work func(*sqlx.Tx) error) error {
	return s.db.inTx(ctx, "test", work)
}

// AcceptTogether stores reports as those are that arrive while others are being stored. It
// returns what refused each, and which are to be stored alone.
func (s *Store) AcceptTogether(ctx context.Context, reports map[monitor.ID]monitor.Report) (refused map[monitor.ID]error, alone []monitor.ID) {
	var group []*queuedReport
	for id, r := range reports {
		group = append(group, &queuedReport{queueItem: newQueueItem(ctx, string(id)), id: id, report: r})
	}
	together(s.db, s.storeGroup)(ctx, group)
	refused = map[monitor.ID]error{}
	for _, r := range group {
		if r.err != nil {
			refused[r.id] = r.err
		}
		if r.alone {
			alone = append(alone, r.id)
		}
	}
	return refused, alone
}

// GroupQueue is a queue of names. It records the groups in which they are stored.
type GroupQueue struct {
	queue  groupQueue[*queuedName]
	Store  func() // takes as long as a transaction
	mu     sync.Mutex
	groups [][]string
}

type queuedName struct{ queueItem }

// Add adds a name that may wait so long, and waits until it is stored. alone is whether it is to be stored alone.
func (q *GroupQueue) Add(ctx context.Context, name string, wait time.Duration) (alone bool, err error) {
	one := &queuedName{newQueueItem(ctx, name)}
	one.due = time.Now().Add(wait)
	err = q.queue.add(one, func(_ context.Context, group []*queuedName) {
		var names []string
		for _, n := range group {
			names = append(names, n.key)
		}
		q.mu.Lock()
		q.groups = append(q.groups, names)
		q.mu.Unlock()
		q.Store()
	})
	return one.alone, err
}

// Groups returns the groups so far.
func (q *GroupQueue) Groups() [][]string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.groups)
}

// Close ends the queue.
func (q *GroupQueue) Close() { q.queue.close() }

// RecordTogether records successes as those are that come while others are being stored. It returns the
// deliveries that are to be stored alone.
func (o *Outbox) RecordTogether(ctx context.Context, deliveries []delivery.Delivery, outcome delivery.Outcome) (alone []string) {
	var group []*queuedSuccess
	for _, d := range deliveries {
		group = append(group, &queuedSuccess{queueItem: newQueueItem(ctx, d.ID), delivery: d, outcome: outcome})
	}
	together(o.db, o.recordSuccesses)(ctx, group)
	for _, s := range group {
		if s.alone {
			alone = append(alone, s.delivery.ID)
		}
	}
	return alone
}

// HeartbeatSetting returns a setting of the session that sends heartbeats.
func (s *Store) HeartbeatSetting(ctx context.Context, name string) (value string, err error) {
	err = s.MembershipStore.db.QueryRowContext(ctx, `SELECT current_setting($1)`, name).Scan(&value)
	return value, err
}

// MigrateWith is Migrate with other files.
func (s *Store) MigrateWith(ctx context.Context, cfg migrations.Config) error {
	return s.migrate(ctx, cfg)
}

// RouteIncidents does what Lease does before it leases.
func (o *Outbox) RouteIncidents(ctx context.Context) (more bool, err error) {
	ctx = withPrepared(ctx)
	w, err := o.readWaiting(ctx)
	if err != nil {
		return false, err
	}
	return o.routeIncidents(ctx, &w)
}
