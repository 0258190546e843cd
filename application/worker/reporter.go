package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// warnInterval is the shortest time between two warnings about the gateway.
const warnInterval = 30 * time.Second

// reporter sends reports to the gateway, on a goroutine of its own.
type reporter struct {
	w          *Worker
	workerEnd  chan error // by which the loop ends, at most one value: nil if the gateway orders a stop, or an error
	wake       chan struct{}
	official   newest[monitor.OfficialState]
	ingest     newest[monitor.IngestState]
	revisions  *revisionFollower
	thumbnails *thumbnailer
	done       chan struct{} // closed when the goroutine has ended
	failure    error         // the error that ended the goroutine; read after done is closed
	ctx        context.Context
	cancel     context.CancelFunc

	mu      sync.Mutex
	backlog backlog
	minutes history.Minutes
	idle    chan struct{} // closed while nothing is outstanding

	// Only the reporter's goroutine uses these.
	failures     int       // in a row
	slow         bool      // the last answer took longer than attemptTimeout
	lastAccepted time.Time // when it last accepted a report
	lastWarned   time.Time
	authFailure  authFailure
}

func newReporter(force context.Context, w *Worker, revisions *revisionFollower, thumbnails *thumbnailer) *reporter {
	ctx, cancel := context.WithCancel(force)
	return &reporter{
		w:          w,
		workerEnd:  make(chan error, 1),
		wake:       make(chan struct{}, 1),
		official:   newNewest[monitor.OfficialState](),
		ingest:     newNewest[monitor.IngestState](),
		revisions:  revisions,
		thumbnails: thumbnails,
		done:       make(chan struct{}),
		ctx:        ctx,
		cancel:     cancel,
		idle:       make(chan struct{}),
	}
}

func (r *reporter) start() {
	go func() {
		defer close(r.done)
		if r.failure = recoverPanic(r.w.log, "reporting", r.run); r.failure != nil {
			r.endWorker(r.failure)
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

// refresh replaces the newest state. The reporter sends it with the next report or
// heartbeat.
func (r *reporter) refresh(state monitor.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backlog.refresh(state)
}

// addMeasures adds the measures of a segment of a length whose first timestamp was at the
// time start. The next report has them, at the latest the next heartbeat.
func (r *reporter) addMeasures(start time.Time, length time.Duration, measures []watch.Measure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.minutes.Add(start, length, measures)
}

// outstanding reports whether the gateway has not accepted everything that was added.
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

// stop ends the reporter and waits for its goroutine. The reporter first has up to limit
// to send outstanding reports. stop returns the error that had ended the reporter, or nil.
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
	case isReplaced(r.failure):
		r.w.log.Info("The worker that took over sends the remaining events", "events", unreported)
	default:
		r.w.log.Error("The worker ends before the gateway has accepted every event", "events", unreported)
	}
	return r.failure
}

// run sends queued reports, and a heartbeat when none was queued for Config.Heartbeat. It
// returns nil when it is cancelled, or the error that ends the worker.
func (r *reporter) run() error {
	r.lastAccepted = time.Now()
	for r.awaitWork() {
		began := time.Now()
		answer, err := r.send()
		keyRejected := r.authFailure.record(err)
		switch {
		case err == nil:
			r.recordSuccess(time.Since(began))
			r.revisions.note(answer.Revision)
			r.thumbnails.note(answer.ThumbnailWanted)
			if o := answer.OfficialState; o != nil {
				r.official.note(*o, o.AskedAt, began.Add(-o.Age()))
			}
			if i := answer.IngestState; i != nil {
				r.ingest.note(*i, i.AskedAt, began.Add(-i.Age()))
			}
			if answer.Order == monitor.Stop {
				r.endWorker(nil)
			}
		case isReplaced(err):
			return err
		case r.ctx.Err() != nil:
			return nil //nolint:nilerr // the reporter was cancelled
		case keyRejected:
			return fmt.Errorf("%w: %w", ErrKeyRejected, err)
		default:
			r.recordFailure(err)
			// The delay counts from the beginning of the failed attempt.
			if !wait.For(r.ctx, gatewayBackoff.Delay(r.failures)-time.Since(began)) {
				return nil
			}
		}
	}
	return nil
}

// newest passes what an API has said, of which answers to reports tell, to the loop.
type newest[State any] struct {
	loop chan said[State] // at most one
	at   *time.Time       // the AskedAt of the newest, which names it
}

// said is what an API has said, as this process knows it.
type said[State any] struct {
	state   State
	askedAt time.Time // by time.Now
}

func newNewest[State any]() newest[State] {
	return newest[State]{make(chan said[State], 1), new(time.Time)}
}

// note passes a state that is named by a time to the loop, if it is a new one. It was asked at askedAt or later: the way of the report
// to the gateway makes it look older than it is, never younger.
func (n newest[State]) note(state State, name, askedAt time.Time) {
	if name.Equal(*n.at) {
		return
	}
	*n.at = name
	select {
	case <-n.loop: // the loop has not taken it yet
	default:
	}
	n.loop <- said[State]{state, askedAt}
}

// awaitWork waits until there is something to send. It returns false when the reporter
// is cancelled.
func (r *reporter) awaitWork() bool {
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

func (r *reporter) recordSuccess(took time.Duration) {
	r.slow = took > attemptTimeout
	if r.failures > 0 {
		r.w.log.Info("The gateway accepts reports again", "failures", r.failures, "away_sec", time.Since(r.lastAccepted).Seconds())
	}
	r.failures, r.lastWarned = 0, time.Time{}
	r.lastAccepted = time.Now()
}

func (r *reporter) recordFailure(err error) {
	r.failures++
	if time.Since(r.lastWarned) >= warnInterval {
		r.lastWarned = time.Now()
		r.w.log.Warn("The gateway accepted no report; trying again", "error", err, "failures", r.failures)
	}
}

// endWorker makes the loop end with err; nil means a normal end. Later calls do nothing.
func (r *reporter) endWorker(err error) {
	select {
	case r.workerEnd <- err:
	default:
	}
}

// send makes one attempt to deliver the oldest outstanding report. If none is outstanding,
// it sends the newest state as a heartbeat.
func (r *reporter) send() (monitor.Answer, error) {
	r.mu.Lock()
	report, adds := r.backlog.next()
	report.Minutes = r.minutes.Next()
	r.mu.Unlock()

	answer, err := r.attempt(report)
	minutes := report.Minutes
	if isReportRejected(err) {
		answer, minutes, err = r.sendInParts(report, err)
	}
	if err != nil {
		return monitor.Answer{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	outstanding := r.backlog.outstanding()
	r.backlog.accepted(report, adds)
	r.minutes.Accepted(minutes)
	if outstanding && !r.backlog.outstanding() {
		close(r.idle)
	}
	return answer, nil
}

// attempt makes one attempt to deliver one report, within attemptLimit.
func (r *reporter) attempt(report monitor.Report) (monitor.Answer, error) {
	ctx, cancel := context.WithTimeout(r.ctx, attemptLimit(r.failures, r.slow))
	defer cancel()
	report.SentAt = r.w.clock.now()
	return r.w.ports.Gateway.Report(ctx, r.w.cfg.ID, report)
}

// sendInParts sends a rejected report without its snapshot, and if the gateway rejects
// that too, without its minutes. If that is rejected as well, it sends each event alone and
// then the state. It drops an event that the gateway rejects alone, because that event
// would block all later ones. It returns the minutes that are done; the next report has the others.
func (r *reporter) sendInParts(report monitor.Report, rejection error) (answer monitor.Answer, done []monitor.Minute, err error) {
	if report.Snapshot != nil {
		r.w.log.Error("The gateway rejects a report; it is sent again without the snapshot", "error", rejection)
		report.Snapshot = nil
		if answer, err = r.attempt(report); !isReportRejected(err) {
			return answer, report.Minutes, err
		}
		rejection = err
	}
	if minutes := report.Minutes; minutes != nil {
		report.Minutes = nil
		if answer, err = r.attempt(report); !isReportRejected(err) {
			if err == nil {
				r.w.log.Error("The gateway rejects the luma and level of a report; they are lost", "error", rejection, "minutes", len(minutes))
			}
			return answer, minutes, err
		}
		rejection = err
	}
	r.w.log.Error("The gateway rejects a report; its events are sent one by one", "error", rejection)
	for _, e := range report.Events {
		part := monitor.Report{Generation: report.Generation, Revision: report.Revision, At: report.At, Events: []event.Event{e}}
		_, err := r.attempt(part)
		switch {
		case isReportRejected(err):
			r.w.log.Error("The gateway rejects an event; it is lost", "event_type", string(e.Type), "event_id", e.ID, "event", e.Data, "error", err)
		case err != nil:
			return monitor.Answer{}, nil, err
		}
	}
	report.Events = nil
	answer, err = r.attempt(report)
	return answer, nil, err
}
