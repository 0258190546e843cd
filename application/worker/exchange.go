package worker

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// send delivers the oldest of what is outstanding once, or the newest state
// again.
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
	before := r.backlog.outstanding()
	r.backlog.accepted(report, revision)
	if before && !r.backlog.outstanding() {
		close(r.idle)
	}
	return order, nil
}

// exchange delivers one report once, within the limit of a try.
func (r *reporter) exchange(report monitor.Report) (monitor.Order, error) {
	ctx, cancel := context.WithTimeout(r.ctx, attemptLimit(r.failures, r.slow))
	defer cancel()
	return r.w.ports.Gateway.Report(ctx, r.w.cfg.ID, report)
}

// sendInParts delivers what can be delivered of a report that was refused as a
// whole: all but the snapshot; and if that is refused as well, every event by
// itself, then the state. An event that is refused even so is lost, or it would
// hold up all that follow.
func (r *reporter) sendInParts(report monitor.Report, because error) (monitor.Order, error) {
	if report.Snapshot != nil {
		r.w.log.Error("The gateway refuses a report; it gets it without the snapshot", "error", because)
		report.Snapshot = nil
		order, err := r.exchange(report)
		if !isReportRejected(err) {
			return order, err
		}
		because = err
	}
	r.w.log.Error("The gateway refuses a report; it gets it in parts", "error", because)
	for _, e := range report.Events {
		part := monitor.Report{Generation: report.Generation, At: report.At, Events: []event.Event{e}}
		_, err := r.exchange(part)
		switch {
		case isReportRejected(err):
			r.w.log.Error("The gateway refuses an event; it is lost", "event_type", string(e.Type), "event_id", e.ID, "event", e.Data, "error", err)
		case err != nil:
			return "", err
		}
	}
	report.Events = nil
	return r.exchange(report)
}
