package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// warnInterval is the shortest time between two warnings about the gateway.
const warnInterval = 30 * time.Second

// reporter sends reports to the gateway, on a goroutine of its own.
type reporter struct {
	w      *Worker
	result chan error // one value: nil for the order to stop, or the error that ends the worker
	wake   chan struct{}
	done   chan struct{} // closed when the goroutine has ended
	ended  error         // why it ended by itself; read after done is closed
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	backlog backlog
	idle    chan struct{} // closed while nothing is outstanding

	// Used by that goroutine only.
	failures     int       // in a row
	slow         bool      // the last answer took longer than attemptTimeout
	lastHeard    time.Time // when the gateway last answered
	lastAccepted time.Time // when it last accepted a report
	lastWarned   time.Time
	authFailure  authFailure
}

func newReporter(force context.Context, w *Worker) *reporter {
	ctx, cancel := context.WithCancel(force)
	return &reporter{
		w:      w,
		result: make(chan error, 1),
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
		ctx:    ctx,
		cancel: cancel,
		idle:   make(chan struct{}),
	}
}

func (r *reporter) start() {
	go func() {
		defer close(r.done)
		if r.ended = recoverPanic(r.w.log, "reporting", r.run); r.ended != nil {
			r.finish(r.ended)
		}
	}()
}

// add queues a report. It never blocks.
func (r *reporter) add(report monitor.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.backlog.delivered {
		r.idle = make(chan struct{})
	}
	r.backlog.add(report)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// refresh replaces the newest state. It is sent with the next report, at the latest
// with the next heartbeat.
func (r *reporter) refresh(state monitor.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backlog.refresh(state)
}

// outstanding reports whether anything has not been accepted yet.
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

// stop ends the reporter and waits for it. It gives it limit to send what is
// outstanding. It returns the error that ended the reporter before, if any.
func (r *reporter) stop(limit time.Duration) error {
	if limit > 0 && r.outstanding() {
		ctx, cancel := context.WithTimeout(r.ctx, limit)
		r.flush(ctx)
		cancel()
	}
	r.cancel()
	<-r.done
	switch unreported := r.backlog.events(); {
	case unreported == 0:
	case isReplaced(r.ended):
		r.w.log.Info("The worker that took over sends the remaining events", "events", unreported)
	default:
		r.w.log.Error("The worker ends before the gateway has accepted every event", "events", unreported)
	}
	return r.ended
}

// run sends every queued report and a heartbeat. It returns nil when it is cancelled,
// or the error that ends the worker.
func (r *reporter) run() error {
	r.lastHeard, r.lastAccepted = time.Now(), time.Now()
	for r.await() {
		began := time.Now()
		order, err := r.send()
		keyRejected := r.authFailure.lasted(err)
		switch {
		case err == nil:
			r.succeeded(time.Since(began))
			if order == monitor.Stop {
				r.finish(nil)
			}
		case isReplaced(err):
			return err
		case r.ctx.Err() != nil:
			return nil //nolint:nilerr // the reporter was cancelled
		case !isGatewayAnswer(err) && r.w.gatewayGone(r.lastHeard):
			return fmt.Errorf("%w: %w", ErrGatewayGone, err)
		case keyRejected:
			return fmt.Errorf("%w: %w", ErrKeyRejected, err)
		default:
			r.failed(err)
			// The delay counts from the beginning of the attempt.
			if !sleep(r.ctx, retryDelay(r.failures)-time.Since(began)) {
				return nil
			}
		}
	}
	return nil
}

// await waits until there is something to send. It returns false when the reporter
// is cancelled.
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
	r.slow = took > attemptTimeout
	if r.failures > 0 {
		r.w.log.Info("The gateway accepts reports again", "failures", r.failures, "away_sec", time.Since(r.lastAccepted).Seconds())
	}
	r.failures, r.lastWarned = 0, time.Time{}
	r.lastHeard, r.lastAccepted = time.Now(), time.Now()
}

func (r *reporter) failed(err error) {
	r.failures++
	if isGatewayAnswer(err) {
		r.lastHeard = time.Now()
	}
	if time.Since(r.lastWarned) >= warnInterval {
		r.lastWarned = time.Now()
		r.w.log.Warn("The gateway accepted no report; trying again", "error", err, "failures", r.failures)
	}
}

// finish tells the loop to end. Only the first call counts.
func (r *reporter) finish(err error) {
	select {
	case r.result <- err:
	default:
	}
}

// send makes one attempt to deliver the oldest outstanding report. Without one, it
// sends the newest state again.
func (r *reporter) send() (monitor.Order, error) {
	r.mu.Lock()
	report, revision := r.backlog.next()
	r.mu.Unlock()

	order, err := r.exchange(report)
	if isReportRejected(err) {
		order, err = r.sendInParts(report, err)
	}
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	outstanding := r.backlog.outstanding()
	r.backlog.accepted(report, revision)
	if outstanding && !r.backlog.outstanding() {
		close(r.idle)
	}
	return order, nil
}

// exchange makes one attempt to deliver one report, within attemptLimit.
func (r *reporter) exchange(report monitor.Report) (monitor.Order, error) {
	ctx, cancel := context.WithTimeout(r.ctx, attemptLimit(r.failures, r.slow))
	defer cancel()
	return r.w.ports.Gateway.Report(ctx, r.w.cfg.ID, report)
}

// sendInParts sends a rejected report without its snapshot. If that is rejected too, it
// sends each event alone and then the state. An event that is rejected alone is
// dropped: it would block all that follow.
func (r *reporter) sendInParts(report monitor.Report, rejection error) (monitor.Order, error) {
	if report.Snapshot != nil {
		r.w.log.Error("The gateway rejects a report; it is sent again without the snapshot", "error", rejection)
		report.Snapshot = nil
		order, err := r.exchange(report)
		if !isReportRejected(err) {
			return order, err
		}
		rejection = err
	}
	r.w.log.Error("The gateway rejects a report; its events are sent one by one", "error", rejection)
	for _, e := range report.Events {
		part := monitor.Report{Generation: report.Generation, At: report.At, Events: []event.Event{e}}
		_, err := r.exchange(part)
		switch {
		case isReportRejected(err):
			r.w.log.Error("The gateway rejects an event; it is lost", "event_type", string(e.Type), "event_id", e.ID, "event", e.Data, "error", err)
		case err != nil:
			return "", err
		}
	}
	report.Events = nil
	return r.exchange(report)
}
