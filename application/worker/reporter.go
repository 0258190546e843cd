package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// reporter carries reports to the gateway beside the loop. Of states only the
// newest matters; events are kept, in order, until they are accepted.
type reporter struct {
	w       *Worker
	verdict chan error // one value: nil for the order to stop, or how the worker was dismissed
	wake    chan struct{}
	done    chan struct{} // closed by the reporter's goroutine as it ends
	ctx     context.Context
	cancel  context.CancelFunc

	mu     sync.Mutex
	latest monitor.Report
	count  int  // of reports taken over; latest is the last of them
	dirty  bool // latest or events are not yet accepted
	events []event.Event
	idle   chan struct{} // closed while nothing is outstanding
}

func newReporter(w *Worker) *reporter {
	ctx, cancel := context.WithCancel(context.Background())
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

func (r *reporter) start() { go r.run() }

// add takes a report over; it never blocks.
func (r *reporter) add(report monitor.Report) {
	r.mu.Lock()
	r.events = append(r.events, report.Events...)
	report.Events = nil
	r.latest = report
	r.count++
	if !r.dirty {
		r.dirty = true
		r.idle = make(chan struct{})
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// outstanding tells whether anything has not been accepted yet.
func (r *reporter) outstanding() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dirty
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

// stop ends the reporter, giving it limit to bring out what is outstanding,
// and waits for it.
func (r *reporter) stop(limit time.Duration) {
	if limit > 0 && r.outstanding() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		r.flush(ctx)
		cancel()
	}
	r.cancel()
	<-r.done
	if lost := len(r.events); lost > 0 {
		r.w.log.Error("The gateway could not be told everything before the end", "events", lost)
	}
}

// run sends whatever is new, and something every heartbeat.
func (r *reporter) run() {
	defer close(r.done)
	heartbeat := time.NewTicker(r.w.cfg.Heartbeat)
	defer heartbeat.Stop()
	heard := time.Now()
	for failures := 0; ; {
		if failures > 0 {
			if !sleep(r.ctx, retryDelay(failures)) {
				return
			}
		} else {
			select {
			case <-r.wake:
			case <-heartbeat.C:
			case <-r.ctx.Done():
				return
			}
		}
		heartbeat.Reset(r.w.cfg.Heartbeat)
		order, err := r.send()
		switch {
		case err == nil:
			failures, heard = 0, time.Now()
			if order == monitor.Stop {
				r.conclude(nil)
			}
		case dismissed(err):
			r.conclude(err)
			return
		case r.ctx.Err() != nil:
			return
		case !answered(err) && r.w.alone(heard):
			r.conclude(fmt.Errorf("%w: %w", ErrAlone, err))
			return
		default:
			failures++
			if answered(err) {
				heard = time.Now()
			}
			r.w.log.Warn("The gateway took no report; trying again", "error", err, "failures", failures)
		}
	}
}

// send delivers the newest state and all events once.
func (r *reporter) send() (monitor.Order, error) {
	r.mu.Lock()
	report, count := r.latest, r.count
	report.Events = append([]event.Event(nil), r.events...)
	r.mu.Unlock()

	order, err := r.w.ports.Gateway.Report(r.ctx, r.w.cfg.ID, report)
	if refused(err) {
		order, err = r.sendInParts(report, err)
	}
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = r.events[len(report.Events):]
	if r.dirty && r.count == count {
		r.dirty = false
		close(r.idle)
	}
	return order, nil
}

// sendInParts delivers what can be delivered of a report that was refused as a
// whole: every event by itself, then the state without the snapshot. An event
// that is refused even so is lost, or it would hold up all that follow.
func (r *reporter) sendInParts(report monitor.Report, because error) (monitor.Order, error) {
	r.w.log.Error("The gateway refuses a report; it gets it in parts, without the snapshot", "error", because)
	for _, e := range report.Events {
		part := monitor.Report{Generation: report.Generation, At: report.At, Events: []event.Event{e}}
		_, err := r.w.ports.Gateway.Report(r.ctx, r.w.cfg.ID, part)
		switch {
		case refused(err):
			r.w.log.Error("The gateway refuses an event; it is lost", "event_type", string(e.Type), "event_id", e.ID, "event", e.Data, "error", err)
		case err != nil:
			return "", err
		}
	}
	report.Events, report.Snapshot = nil, nil
	return r.w.ports.Gateway.Report(r.ctx, r.w.cfg.ID, report)
}

// conclude tells the loop that it is over; the first word counts.
func (r *reporter) conclude(err error) {
	select {
	case r.verdict <- err:
	default:
	}
}
