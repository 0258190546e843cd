package worker

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxEvents is how many events go into one report. The gateway takes 1000 of
// them, and 1 MiB in all, of which a snapshot may be 256 KiB.
const maxEvents = 200

// backlog is what the gateway has yet to accept, as the reports that will tell
// it, oldest first.
//
//	[ 200 events, the state after them ] [ 200 … ] [ some events, the newest state ]
//
// Of states only the newest counts, so older ones are dropped, but for those
// that stand between two reports: each report is true by itself, and whichever
// is the last that was accepted, the events up to
// its snapshot are stored, and none after it. Events are never dropped, and stay
// in order.
//
// What bounds it: events are decided by the time that passes on the stream, and
// the shortest threshold is 1 s, so picture and sound together can tell of four
// changes a second at the very most, some 2 KB; a stream in earnest has a few in
// an hour. A worker that hears nothing of its gateway waits for Config.GatewayTimeout;
// 15 min of it, the default of worker processes, are 2 MB in the worst of cases.
// A gateway that answers that it cannot store (its database is away) is waited
// for without end, and so is one that shares this process: whoever looks after it
// knows, and dropping events would be the greater harm.
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
		// One step gave so many events that only the last report has a state.
		b.reports = append(b.reports, monitor.Report{Generation: r.Generation, At: r.At, Events: r.Events[:maxEvents:maxEvents]})
		r.Events = r.Events[maxEvents:]
	}
	b.reports = append(b.reports, r)
}

// refresh replaces the newest state. That is no news.
func (b *backlog) refresh(state monitor.Report) {
	last := &b.reports[len(b.reports)-1]
	state.Events = last.Events
	*last = state
}

// next is the report to send next, and the revision to pass to accepted.
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

// events is how many of them have not been accepted yet.
func (b *backlog) events() (n int) {
	for _, r := range b.reports {
		n += len(r.Events)
	}
	return n
}
