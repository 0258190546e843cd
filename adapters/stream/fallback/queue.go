package fallback

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Queue limits how many tools a host runs at once. When all places are taken, runs wait
// for their turn: an outage comes before a start, and a start before a poll. Runs of the
// same urgency begin in the order in which they came. It may be used concurrently.
type Queue struct {
	mu      sync.Mutex
	free    int
	waiting []*turn // in order
}

// turn is a run that waits.
type turn struct {
	joined time.Time
	due    time.Time     // earlier ones come first
	given  chan struct{} // closed when the run has a place
}

// NewQueue makes a Queue with a number of places, at least one.
func NewQueue(places int) *Queue { return &Queue{free: max(places, 1)} }

// acquire waits for a place. The caller must release it. Error: ctx's, and no place.
func (q *Queue) acquire(ctx context.Context) error {
	urgency, raised := worker.UrgencyOf(ctx)
	t := q.join(urgency)
	for {
		select {
		case <-t.given:
			return nil
		case <-raised:
			urgency, raised = worker.UrgencyOf(ctx)
			q.raise(t, urgency)
		case <-ctx.Done():
			if !q.leave(t) {
				q.release() // it got a place meanwhile
			}
			return context.Cause(ctx)
		}
	}
}

// join takes a free place, or waits behind the runs that are as urgent.
func (q *Queue) join(u watch.Urgency) *turn {
	now := time.Now()
	t := &turn{joined: now, due: now.Add(-u.Lead()), given: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 {
		q.free--
		close(t.given)
		return t
	}
	q.insert(t)
	return t
}

// insert puts a run behind those that come before it or at the same time. q.mu is held.
func (q *Queue) insert(t *turn) {
	at := len(q.waiting)
	for at > 0 && t.due.Before(q.waiting[at-1].due) {
		at--
	}
	q.waiting = slices.Insert(q.waiting, at, t)
}

// raise moves a run that waits to where it would be if it had joined with urgency u.
func (q *Queue) raise(t *turn, u watch.Urgency) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.remove(t) {
		t.due = t.joined.Add(-u.Lead())
		q.insert(t)
	}
}

// leave removes a run that waits. It reports false if the run has a place.
func (q *Queue) leave(t *turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.remove(t)
}

// remove does what leave does. q.mu is held.
func (q *Queue) remove(t *turn) bool {
	at := slices.Index(q.waiting, t)
	if at < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, at, at+1)
	return true
}

// release gives a place to the run whose turn it is.
func (q *Queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.free++
		return
	}
	next := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	close(next.given)
}
