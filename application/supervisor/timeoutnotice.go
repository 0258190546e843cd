package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// timeoutNotice stores events after the reconciliation at the start has timed out. Each
// undecided monitor gets a monitor.error event that is not terminal (section 10.4).
type timeoutNotice struct {
	start    time.Time // of the reconciliation; monitors registered later get no event
	includes func(monitor.ID) bool
	events   map[monitor.ID]event.Event // each event stays the same at every try
	sent     map[monitor.ID]bool
}

func newTimeoutNotice(start time.Time, concerns func(monitor.ID) bool) *timeoutNotice {
	return &timeoutNotice{start: start, includes: concerns, events: map[monitor.ID]event.Event{}, sent: map[monitor.ID]bool{}}
}

// sendTimeoutNotices stores the events that remain. It compares CreatedAt with this
// gateway's clock, although another gateway may have set it by its own clock. A monitor
// registered around the start may therefore get an unneeded event, or none.
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
		if !r.notice.applies(m) || !leader && !r.launchedInPrivateRuntime(m) {
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
	return !n.sent[m.ID] && !m.CreatedAt.After(n.start) && n.includes(m.ID)
}

func (n *timeoutNotice) event(id monitor.ID, cfg Config) event.Event {
	e, made := n.events[id]
	if !made {
		e = event.Event{ID: cfg.NewEventID(), Type: event.MonitorError, At: cfg.Now(), Data: event.MonitorFailure{
			Reason: event.ReasonReconcileTimeout,
			ErrorDetails: fmt.Sprintf("the gateway could not find out within %v of its start whether this monitor's worker runs; the gateway continues to try",
				cfg.ReconcileTimeout),
		}}
		n.events[id] = e
	}
	return e
}

// launchedInPrivateRuntime reports whether a monitor's newest worker was launched in this
// gateway's runtime, and no other gateway uses that runtime.
func (r *Reconciler) launchedInPrivateRuntime(m monitor.Monitor) bool {
	runtime := r.launcher.Runtime()
	return m.RuntimeID == runtime.ID && !runtime.Shared
}

// addEvent stores one event within noticeTimeout. It skips a monitor that has ended.
func (r *Reconciler) addEvent(ctx context.Context, m monitor.Monitor, e event.Event) error {
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	err := r.store.AddEvent(ctx, m, e)
	if isNotCurrent(err) && !errors.Is(err, monitor.ErrSuperseded) {
		return nil
	}
	return err
}
