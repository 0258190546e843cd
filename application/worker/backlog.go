package worker

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxEvents is the most events in one report. The gateway accepts 1000 events and 1 MiB
// in a report, of which the snapshot may be 256 KiB.
const maxEvents = 200

// backlog holds the reports that the gateway has not accepted yet, oldest first.
//
//	[ 200 events, the state after them ] [ 200 … ] [ some events, the newest state ]
//
// Events are never dropped and stay in order. Older states are dropped, except the one
// at the end of each report. A successor may continue from the snapshot of any accepted
// report, so the events before it must be stored.
//
// The number of events is bounded by time on the stream. The shortest threshold is
// 1 s, so picture and sound together give at most four events a second, some 2 KB.
// A worker process waits 15 min by default (Config.GatewayTimeout): at most 2 MB.
// The wait has no limit while the gateway answers but cannot store, and for a gateway in
// the same process: dropping events would be worse.
type backlog struct {
	reports   []monitor.Report // never empty after the first add; all but the last have events
	revision  int              // increases with every add
	delivered bool             // the last report was accepted as it is
}

// add queues events and the state after them.
func (b *backlog) add(r monitor.Report) {
	b.revision++
	b.delivered = false
	if n := len(b.reports); n > 0 {
		last := &b.reports[n-1]
		if len(last.Events)+len(r.Events) <= maxEvents {
			r.Events = append(last.Events, r.Events...)
			*last = r
			return
		}
		if len(last.Events) == 0 {
			b.reports = b.reports[:n-1]
		}
	}
	for len(r.Events) > maxEvents {
		// A step with more than maxEvents events: only the last report has a state.
		b.reports = append(b.reports, monitor.Report{Generation: r.Generation, At: r.At, Events: r.Events[:maxEvents:maxEvents]})
		r.Events = r.Events[maxEvents:]
	}
	b.reports = append(b.reports, r)
}

// refresh replaces the newest state. It does not make the report outstanding.
func (b *backlog) refresh(state monitor.Report) {
	last := &b.reports[len(b.reports)-1]
	state.Events = last.Events
	*last = state
}

// next returns the report to send next, and the revision to pass to accepted.
func (b *backlog) next() (r monitor.Report, revision int) {
	r = b.reports[0]
	r.Events = slices.Clip(r.Events)
	return r, b.revision
}

// accepted removes a report that next gave and the gateway has stored.
func (b *backlog) accepted(r monitor.Report, revision int) {
	first := &b.reports[0]
	first.Events = first.Events[len(r.Events):]
	switch {
	case len(b.reports) > 1 && len(first.Events) == 0:
		b.reports = b.reports[1:]
	case len(b.reports) == 1:
		b.delivered = revision == b.revision
	}
}

// outstanding reports whether anything has not been accepted yet.
func (b *backlog) outstanding() bool { return len(b.reports) > 0 && !b.delivered }

// events returns how many events have not been accepted yet.
func (b *backlog) events() (n int) {
	for _, r := range b.reports {
		n += len(r.Events)
	}
	return n
}
