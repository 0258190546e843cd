package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// errReplaced is why a notice is stored later.
var errReplaced = errors.New("a worker is being replaced")

// timeoutNotice stores events after the reconciliation at the start has timed out. Each
// undecided monitor gets a monitor.error event that is not terminal (section 10.4).
type timeoutNotice struct {
	store   Store
	runtime Runtime
	cfg     Config

	start    time.Time                  // of the gateway; monitors registered later get no event
	concerns func(monitor.ID) bool      // the undecided ones; set before send
	events   map[monitor.ID]event.Event // each event stays the same at every try
	sent     map[monitor.ID]bool
}

func newTimeoutNotice(store Store, r Runtime, cfg Config) *timeoutNotice {
	return &timeoutNotice{store: store, runtime: r, cfg: cfg, start: cfg.Now(), events: map[monitor.ID]event.Event{}, sent: map[monitor.ID]bool{}}
}

// send stores the events, and tries again until all are stored or ctx is done.
func (n *timeoutNotice) send(ctx context.Context) {
	_ = retry(ctx, n.cfg.Log, exchangeTimeout, "store the events of a timeout", n.sendOnce) // only ctx ends it
}

// sendOnce stores the events that remain. It compares CreatedAt with this
// gateway's clock, although another gateway may have set it by its own clock. A monitor
// registered around the start may therefore get an unneeded event, or none.
func (n *timeoutNotice) sendOnce(ctx context.Context) error {
	leader, err := n.store.TryLead(ctx)
	if err != nil {
		return err
	}
	active, err := n.store.ListActive(ctx)
	if err != nil {
		return err
	}
	var failures error
	for _, m := range active {
		private := m.RuntimeID == n.runtime.ID && !n.runtime.Shared
		if n.sent[m.ID] || m.CreatedAt.After(n.start) || !n.concerns(m.ID) || !leader && !private {
			continue
		}
		switch err := n.add(ctx, m); {
		case errors.Is(err, monitor.ErrSuperseded):
			failures = errors.Join(failures, errReplaced)
		case err == nil, isNotCurrent(err): // it has ended
			n.sent[m.ID] = true
		default:
			failures = errors.Join(failures, err)
		}
	}
	return failures
}

// add stores the event of one monitor within noticeTimeout.
func (n *timeoutNotice) add(ctx context.Context, m monitor.Monitor) error {
	e, made := n.events[m.ID]
	if !made {
		e = event.Event{ID: n.cfg.NewEventID(), Type: event.MonitorError, At: n.cfg.Now(), Data: event.MonitorFailure{
			Reason: event.ReasonReconcileTimeout,
			ErrorDetails: fmt.Sprintf("the gateway could not find out within %v of its start whether this monitor's worker runs; the gateway continues to try",
				n.cfg.ReconcileTimeout),
		}}
		n.events[m.ID] = e
	}
	return attempt(ctx, noticeTimeout, func(ctx context.Context) error { return n.store.AddEvent(ctx, m, e) })
}
