package exitqueue

import (
	"sync"
	"time"
)

// LastCall is how long the ends still queued at Close wait for a reader.
const DrainTimeout = 250 * time.Millisecond

// Queue is the ends of workers, whatever a launcher calls them. One goroutine,
// pump, owns out and closes it.
type Queue[E any] struct {
	out     chan E
	bell    chan struct{} // rung when the queue has changed
	closing chan struct{}
	once    sync.Once
	pumping sync.WaitGroup

	mu    sync.Mutex
	queue []E
}

// New makes a queue. Whoever made it must Close it.
func New[E any]() *Queue[E] {
	q := &Queue[E]{out: make(chan E), bell: make(chan struct{}, 1), closing: make(chan struct{})}
	q.pumping.Go(q.pump)
	return q
}

// Add puts an end into the queue. It never blocks. After Close it is in vain.
func (q *Queue[E]) Add(e E) {
	q.mu.Lock()
	q.queue = append(q.queue, e)
	q.mu.Unlock()
	select {
	case q.bell <- struct{}{}:
	default:
	}
}

// Out gives the ends, in order, until the queue is closed; then it is closed.
func (q *Queue[E]) Out() <-chan E { return q.out }

// Close gives whoever is reading the rest, drops what nobody has read after
// LastCall, and closes Out. It blocks until then, and may be called again.
func (q *Queue[E]) Close() {
	q.once.Do(func() { close(q.closing) })
	q.pumping.Wait()
}

// take removes the oldest.
func (q *Queue[E]) take() (oldest E, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		return oldest, false
	}
	oldest = q.queue[0]
	q.queue = q.queue[1:]
	return oldest, true
}

func (q *Queue[E]) pump() {
	defer close(q.out)
	for {
		e, more := q.take()
		if !more {
			select {
			case <-q.bell:
				continue
			case <-q.closing:
				q.flush()
				return
			}
		}
		select {
		case q.out <- e:
		case <-q.closing:
			q.flush(e)
			return
		}
	}
}

// flush hands over what was taken already and then the rest.
func (q *Queue[E]) flush(taken ...E) {
	over := time.NewTimer(DrainTimeout)
	defer over.Stop()
	for {
		if len(taken) == 0 {
			e, more := q.take()
			if !more {
				return
			}
			taken = append(taken, e)
		}
		select {
		case q.out <- taken[0]:
			taken = nil
		case <-over.C:
			return
		}
	}
}
