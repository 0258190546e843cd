package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// A groupQueue stores at most maxGroups groups at a time: while one waits for the disk, the next is
// being stored. A group has at most maxGroupSize items.
const (
	maxGroups    = 2
	maxGroupSize = 64
)

// A group waits at most 1 s for a lock. After that, or after maxGroupTime in all, each of its
// items is stored alone, so that only those wait on that need the lock.
const (
	groupLockTimeout = `SET LOCAL lock_timeout = '1s'`
	maxGroupTime     = 5 * time.Second
)

// queueItem is what a groupQueue needs of an item.
type queueItem struct {
	ctx   context.Context //nolint:containedctx // of the caller that waits
	key   string          // no two items with one key are stored at the same time
	due   time.Time       // until then it may wait for others to share its transaction; zero: it is due
	done  chan struct{}   // closed when the item was in a group
	alone bool            // the group has not stored it: it is to be stored in a transaction of its own
}

func newQueueItem(ctx context.Context, key string) queueItem {
	return queueItem{ctx: ctx, key: key, done: make(chan struct{})}
}

func (i *queueItem) item() *queueItem { return i }

// groupQueue collects what arrives while others are being stored, and stores it in one
// transaction. Items that are not due wait for more, until one of them is due or a group is full. Its
// callers wait, so an item leaves no other of its caller behind. The zero value is usable.
type groupQueue[T interface{ item() *queueItem }] struct {
	mu      sync.Mutex
	waiting []T
	storing []string // the keys of the groups that are being stored
	groups  int
	timer   *time.Timer // runs while items wait that were not due; it begins a group
	closed  bool
	running sync.WaitGroup
}

// add adds an item and waits until it was in a group, or is to be stored alone. store stores a group,
// and sets which of its items are to be stored alone. An error is that of the item's context.
func (q *groupQueue[T]) add(one T, store func(context.Context, []T)) error {
	i := one.item()
	q.mu.Lock()
	if q.closed {
		i.alone = true
		q.mu.Unlock()
		return nil
	}
	q.waiting = append(q.waiting, one)
	q.begin(store)
	q.mu.Unlock()
	select {
	case <-i.done:
		return nil
	case <-i.ctx.Done():
		return context.Cause(i.ctx)
	}
}

// begin begins a group if one is due. Otherwise it sees to it that one begins when it is.
// q.mu is held.
func (q *groupQueue[T]) begin(store func(context.Context, []T)) {
	switch wait := q.untilDue(); {
	case q.closed || len(q.waiting) == 0:
	case wait > 0:
		q.beginIn(wait, store)
	case q.groups < maxGroups: // else a group that ends takes what waits
		q.groups++
		q.running.Go(func() { q.run(store) })
	}
}

// beginIn sees to it that a group begins after a time. q.mu is held.
func (q *groupQueue[T]) beginIn(wait time.Duration, store func(context.Context, []T)) {
	if q.timer != nil || q.closed {
		return
	}
	q.timer = time.AfterFunc(wait, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.timer = nil
		q.begin(store)
	})
}

// untilDue returns how long until a group of those that wait is due. q.mu is held.
func (q *groupQueue[T]) untilDue() time.Duration {
	if len(q.waiting) == 0 || len(q.waiting) >= maxGroupSize {
		return 0
	}
	first := q.waiting[0].item().due
	for _, one := range q.waiting {
		if due := one.item().due; due.Before(first) {
			first = due
		}
	}
	return time.Until(first)
}

// close returns when nothing is being stored. No group begins after it: what comes, or still waits, is
// to be stored alone.
func (q *groupQueue[T]) close() {
	q.mu.Lock()
	q.closed = true
	if q.timer != nil {
		q.timer.Stop()
	}
	q.mu.Unlock()
	q.running.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.waiting {
		one.item().alone = true
		close(one.item().done)
	}
	q.waiting = nil
}

// run stores groups until none is due.
func (q *groupQueue[T]) run(store func(context.Context, []T)) {
	var group []T
	for {
		if group = q.next(group, store); group == nil {
			return
		}
		storeWithin(group, store)
		for _, one := range group {
			close(one.item().done)
		}
	}
}

// storeWithin stores a group. A single item is stored as long as its caller waits.
func storeWithin[T interface{ item() *queueItem }](group []T, store func(context.Context, []T)) {
	ctx := group[0].item().ctx
	if len(group) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), maxGroupTime)
		defer cancel()
	}
	store(ctx, group)
}

// together makes a function that stores a group in one transaction by store, which returns the members that it has stored. The
// others are to be stored alone; so are all if the server refuses anything.
func together[T interface{ item() *queueItem }](db *database, store func(context.Context, *sqlx.Tx, []T) ([]T, error)) func(context.Context, []T) {
	return func(ctx context.Context, group []T) {
		var stored []T
		err := db.runTx(ctx, func(tx *sqlx.Tx) (err error) {
			if _, err := tx.ExecContext(ctx, groupLockTimeout); err != nil {
				return err
			}
			stored, err = store(ctx, tx, group)
			return err
		})
		for _, one := range group {
			one.item().alone = true
		}
		if err == nil {
			for _, one := range stored {
				one.item().alone = false
			}
		}
	}
}

// next ends a group and returns the next one; nil: none is due. It leaves waiting what has the key
// of an item that is being stored, and drops those whose callers have left.
func (q *groupQueue[T]) next(ended []T, store func(context.Context, []T)) (group []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range ended {
		at := slices.Index(q.storing, one.item().key)
		q.storing = slices.Delete(q.storing, at, at+1)
	}
	if wait := q.untilDue(); wait > 0 {
		q.groups--
		q.beginIn(wait, store)
		return nil
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(one T) bool {
		i := one.item()
		if i.ctx.Err() != nil {
			return true
		}
		if len(group) == maxGroupSize || slices.Contains(q.storing, i.key) {
			return false
		}
		q.storing = append(q.storing, i.key)
		group = append(group, one)
		return true
	})
	if group == nil {
		q.groups--
	}
	return group
}
