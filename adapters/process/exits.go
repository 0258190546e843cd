package process

import (
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervise"
)

// lastCall is how long the exits still queued at the close wait for a reader.
const lastCall = 250 * time.Millisecond

// exits queues the ends of workers for as long as nobody reads them. One
// goroutine, pump, owns out and closes it.
type exits struct {
	out     chan supervise.Exit
	bell    chan struct{} // rung when the queue or closing has changed
	closing chan struct{}

	mu    sync.Mutex
	queue []supervise.Exit
}

func newExits() *exits {
	return &exits{out: make(chan supervise.Exit), bell: make(chan struct{}, 1), closing: make(chan struct{})}
}

// add never blocks.
func (x *exits) add(e supervise.Exit) {
	x.mu.Lock()
	x.queue = append(x.queue, e)
	x.mu.Unlock()
	select {
	case x.bell <- struct{}{}:
	default:
	}
}

// take removes the oldest.
func (x *exits) take() (supervise.Exit, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue) == 0 {
		return supervise.Exit{}, false
	}
	e := x.queue[0]
	x.queue = x.queue[1:]
	return e, true
}

// pump hands exits over, in order, until closing; then whoever is reading gets
// the rest, and what nobody has read after lastCall is dropped.
func (x *exits) pump() {
	defer close(x.out)
	for {
		e, more := x.take()
		if !more {
			select {
			case <-x.bell:
				continue
			case <-x.closing:
				x.flush(nil)
				return
			}
		}
		select {
		case x.out <- e:
		case <-x.closing:
			x.flush(&e)
			return
		}
	}
}

func (x *exits) flush(first *supervise.Exit) {
	over := time.NewTimer(lastCall)
	defer over.Stop()
	for {
		if first == nil {
			e, more := x.take()
			if !more {
				return
			}
			first = &e
		}
		select {
		case x.out <- *first:
			first = nil
		case <-over.C:
			return
		}
	}
}
