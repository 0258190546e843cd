package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// complainEvery is how often a gateway that stays away is spoken of.
const complainEvery = 30 * time.Second

// reporter carries reports to the gateway beside the loop.
type reporter struct {
	w       *Worker
	verdict chan error // one value: nil for the order to stop, or why the worker must end
	wake    chan struct{}
	done    chan struct{} // closed by the reporter's goroutine as it ends
	ended   error         // why it ended by itself; to be read when done is closed
	ctx     context.Context
	cancel  context.CancelFunc

	mu      sync.Mutex
	backlog backlog
	idle    chan struct{} // closed while nothing is outstanding

	// Of the goroutine alone.
	failures   int       // in a row
	slow       bool      // the last answer took longer than a quick try
	heard      time.Time // when the gateway last said anything
	accepted   time.Time // when it last accepted anything
	complained time.Time
	lockout    lockout
}

func newReporter(force context.Context, w *Worker) *reporter {
	ctx, cancel := context.WithCancel(force)
	return &reporter{
		w:       w,
		verdict: make(chan error, 1),
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
		ctx:     ctx,
		cancel:  cancel,
		idle:    make(chan struct{}),
	}
}

func (r *reporter) start() {
	go func() {
		defer close(r.done)
		if r.ended = contained(r.w.log, "reporting", r.run); r.ended != nil {
			r.conclude(r.ended)
		}
	}()
}

// add takes a report over; it never blocks.
func (r *reporter) add(report monitor.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.backlog.told {
		r.idle = make(chan struct{})
	}
	r.backlog.add(report)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// refresh is add for a state that no news has led to: it goes with whatever is
// sent next, a heartbeat at the latest.
func (r *reporter) refresh(state monitor.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backlog.refresh(state)
}

// outstanding tells whether anything has not been accepted yet.
func (r *reporter) outstanding() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.backlog.outstanding()
}

// flush waits until nothing is outstanding, the reporter has ended, or ctx is
// done.
func (r *reporter) flush(ctx context.Context) {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
	case <-r.done:
	case <-ctx.Done():
	}
}

// stop ends the reporter, giving it limit to bring out what is outstanding, and
// waits for it. It returns what has ended the reporter before, if anything.
func (r *reporter) stop(limit time.Duration) error {
	if limit > 0 && r.outstanding() {
		ctx, cancel := context.WithTimeout(r.ctx, limit)
		r.flush(ctx)
		cancel()
	}
	r.cancel()
	<-r.done
	switch untold := r.backlog.events(); {
	case untold == 0:
	case dismissed(r.ended):
		r.w.log.Info("What is not told yet is left to whoever watches now", "events", untold)
	default:
		r.w.log.Error("The gateway could not be told everything before the end", "events", untold)
	}
	return r.ended
}

// run sends whatever is new, and something every heartbeat. It returns nil when
// it was cancelled, and why the worker must end otherwise.
func (r *reporter) run() error {
	r.heard, r.accepted = time.Now(), time.Now()
	for r.await() {
		began := time.Now()
		order, err := r.send()
		locked := r.lockout.after(err)
		switch {
		case err == nil:
			r.succeeded(time.Since(began))
			if order == monitor.Stop {
				r.conclude(nil)
			}
		case dismissed(err):
			return err
		case r.ctx.Err() != nil:
			return nil //nolint:nilerr // whoever cancelled it knows
		case !answered(err) && r.w.alone(r.heard):
			return fmt.Errorf("%w: %w", ErrAlone, err)
		case locked:
			return fmt.Errorf("%w: %w", ErrLockedOut, err)
		default:
			r.failed(err)
			// What the try itself took need not be waited for again.
			if !sleep(r.ctx, retryDelay(r.failures)-time.Since(began)) {
				return nil
			}
		}
	}
	return nil
}

// await waits until there is something to send; false: the reporter is to end.
func (r *reporter) await() bool {
	heartbeat := time.NewTimer(r.w.cfg.Heartbeat)
	defer heartbeat.Stop()
	for r.failures == 0 && !r.outstanding() {
		select {
		case <-r.wake:
		case <-heartbeat.C:
			return true
		case <-r.ctx.Done():
			return false
		}
	}
	return r.ctx.Err() == nil
}

func (r *reporter) succeeded(took time.Duration) {
	r.slow = took > tryTime
	if r.failures > 0 {
		r.w.log.Info("The gateway takes reports again", "failures", r.failures, "away_sec", time.Since(r.accepted).Seconds())
	}
	r.failures, r.complained = 0, time.Time{}
	r.heard, r.accepted = time.Now(), time.Now()
}

func (r *reporter) failed(err error) {
	r.failures++
	if answered(err) {
		r.heard = time.Now()
	}
	if time.Since(r.complained) >= complainEvery {
		r.complained = time.Now()
		r.w.log.Warn("The gateway took no report; trying again", "error", err, "failures", r.failures)
	}
}

// conclude tells the loop that it is over; the first word counts.
func (r *reporter) conclude(err error) {
	select {
	case r.verdict <- err:
	default:
	}
}
