package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// timeoutNotice holds the notices that remain to be sent after a reconciliation at the
// start has timed out. Each monitor that was not decided about gets a monitor.error
// event that is not terminal (section 10.4).
type timeoutNotice struct {
	start    time.Time // of the reconciliation; later registrations are not concerned
	concerns func(monitor.ID) bool
	events   map[monitor.ID]event.Event // once made, the same at every try
	sent     map[monitor.ID]bool
}

func newTimeoutNotice(start time.Time, concerns func(monitor.ID) bool) *timeoutNotice {
	return &timeoutNotice{start: start, concerns: concerns, events: map[monitor.ID]event.Event{}, sent: map[monitor.ID]bool{}}
}

// sendTimeoutNotices stores the events that remain. CreatedAt is by the clock of
// the gateway that registered the monitor. If that differs by some seconds, a
// monitor registered within them gets a notice too many or too few, and nothing else.
func (r *Reconciler) sendTimeoutNotices(ctx context.Context) error {
	leader, err := r.store.TryLead(ctx)
	if err != nil {
		return err
	}
	active, err := r.store.ListActive(ctx)
	if err != nil {
		return err
	}
	var failures error
	again := false
	for _, m := range active {
		if !r.notice.applies(m) || !leader && !r.launchedOnlyHere(m) {
			continue
		}
		switch err := r.addEvent(ctx, m, r.notice.event(m.ID, r.cfg)); {
		case err == nil:
			r.notice.sent[m.ID] = true
		case errors.Is(err, monitor.ErrSuperseded):
			again = true // its worker is being replaced
		default:
			failures = errors.Join(failures, err)
		}
	}
	if failures == nil && !again {
		r.notice = nil
	}
	return failures
}

func (n *timeoutNotice) applies(m monitor.Monitor) bool {
	return !n.sent[m.ID] && !m.CreatedAt.After(n.start) && n.concerns(m.ID)
}

func (n *timeoutNotice) event(id monitor.ID, cfg Config) event.Event {
	e, made := n.events[id]
	if !made {
		e = event.Event{ID: cfg.NewEventID(), Type: event.MonitorError, At: cfg.Now(), Data: event.MonitorFailure{
			Reason: event.ReasonReconcileTimeout,
			ErrorDetails: fmt.Sprintf("whether this monitor's worker runs could not be found out within %v of the gateway's start; it goes on trying",
				cfg.ReconcileTimeout),
		}}
		n.events[id] = e
	}
	return e
}

// launchedOnlyHere reports whether a monitor's newest worker was launched in this
// gateway's runtime, and no other gateway launches there.
func (r *Reconciler) launchedOnlyHere(m monitor.Monitor) bool {
	runtime := r.launcher.Runtime()
	return m.RuntimeID == runtime.ID && !runtime.Shared
}

// addEvent stores one event, in a time that leaves some for the others. A monitor
// that has ended needs none.
func (r *Reconciler) addEvent(ctx context.Context, m monitor.Monitor, e event.Event) error {
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	err := r.store.AddEvent(ctx, m, e)
	if isOutdated(err) && !errors.Is(err, monitor.ErrSuperseded) {
		return nil
	}
	return err
}
