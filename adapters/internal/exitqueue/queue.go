package exitqueue

import (
	"sync"
	"time"
)

// DrainTimeout limits how long Close waits for a reader of the exits still queued.
const DrainTimeout = 250 * time.Millisecond

// Queue holds the exits of one launcher. The goroutine deliver owns out and
// closes it.
type Queue[E any] struct {
	out        chan E
	changed    chan struct{} // receives when queue has grown
	closing    chan struct{}
	once       sync.Once
	delivering sync.WaitGroup

	mu    sync.Mutex
	queue []E
}

// New makes a queue. The caller must Close it.
func New[E any]() *Queue[E] {
	q := &Queue[E]{out: make(chan E), changed: make(chan struct{}, 1), closing: make(chan struct{})}
	q.delivering.Go(q.deliver)
	return q
}

// Add queues an exit. It never blocks. After Close it does nothing.
func (q *Queue[E]) Add(e E) {
	q.mu.Lock()
	q.queue = append(q.queue, e)
	q.mu.Unlock()
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// Out delivers the exits in order. It is closed when the queue is closed.
func (q *Queue[E]) Out() <-chan E { return q.out }

// Close delivers what is still queued, drops the rest after DrainTimeout, and
// closes Out. It blocks until then, and may be repeated.
func (q *Queue[E]) Close() {
	q.once.Do(func() { close(q.closing) })
	q.delivering.Wait()
}

// take removes the oldest exit.
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

func (q *Queue[E]) deliver() {
	defer close(q.out)
	for {
		e, more := q.take()
		if !more {
			select {
			case <-q.changed:
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

// flush delivers what was taken already, and then the rest.
func (q *Queue[E]) flush(taken ...E) {
	timeout := time.NewTimer(DrainTimeout)
	defer timeout.Stop()
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
		case <-timeout.C:
			return
		}
	}
}
