package worker

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxEvents is the most events in one report. The gateway accepts 1000 events and 1 MiB
// in a report; the snapshot may use 256 KiB of them.
const maxEvents = 200

// backlog holds the reports that the gateway has not accepted yet, oldest first.
//
//	[ 200 events, the state after them ] [ 200 … ] [ some events, the newest state ]
//
// Events are never dropped and stay in order. Older states are dropped, except the one
// at the end of each report. The next worker may continue from the snapshot of any
// accepted report, so the gateway must have all events before that snapshot. A state
// without a snapshot has that of the state before, until the gateway has accepted it.
//
// The stream itself limits the number of events. The shortest threshold is 1 s, so
// picture and sound together give at most four events a second, some 2 KB. A worker
// waits without a limit for a gateway that cannot store or does not answer.
type backlog struct {
	reports   []monitor.Report // never empty after the first add; all but the last have events
	adds      int              // so far
	delivered bool             // the gateway has accepted the last report, and nothing was added since
}

// size is what maxEvents bounds. A signal is smaller than an event and as rare.
func size(r monitor.Report) int { return len(r.Events) + len(r.Signals) }

// add queues events, signals and the state after them.
func (b *backlog) add(r monitor.Report) {
	b.adds++
	b.delivered = false
	if n := len(b.reports); n > 0 {
		last := &b.reports[n-1]
		r.Snapshot = newerSnapshot(last.Snapshot, r.Snapshot)
		if size(*last)+size(r) <= maxEvents {
			r.Events = append(last.Events, r.Events...)
			r.Signals = append(last.Signals, r.Signals...)
			*last = r
			return
		}
		if size(*last) == 0 {
			b.reports = b.reports[:n-1]
		}
	}
	for len(r.Events) > maxEvents {
		// A step with more than maxEvents events: only the last report has a state.
		b.reports = append(b.reports, monitor.Report{Generation: r.Generation, Revision: r.Revision, At: r.At, Events: r.Events[:maxEvents:maxEvents]})
		r.Events = r.Events[maxEvents:]
	}
	b.reports = append(b.reports, r)
}

// refresh replaces the newest state. It does not change whether a report is outstanding.
func (b *backlog) refresh(state monitor.Report) {
	last := &b.reports[len(b.reports)-1]
	state.Events, state.Signals = last.Events, last.Signals
	state.Snapshot = newerSnapshot(last.Snapshot, state.Snapshot)
	*last = state
}

// newerSnapshot returns the snapshot of a state that follows another one. A state without
// one needs none that is newer (watch.Watcher.SnapshotIfDue).
func newerSnapshot(before, after json.RawMessage) json.RawMessage {
	if after == nil {
		return before
	}
	return after
}

// next returns the report to send next, and the number of adds to pass to accepted.
func (b *backlog) next() (r monitor.Report, adds int) {
	r = b.reports[0]
	r.Events, r.Signals = slices.Clip(r.Events), slices.Clip(r.Signals)
	return r, b.adds
}

// accepted removes a report of next after the gateway has stored it.
func (b *backlog) accepted(r monitor.Report, adds int) {
	first := &b.reports[0]
	first.Events, first.Signals = first.Events[len(r.Events):], first.Signals[len(r.Signals):]
	if bytes.Equal(first.Snapshot, r.Snapshot) {
		first.Snapshot = nil
	}
	switch {
	case len(b.reports) > 1 && size(*first) == 0:
		b.reports = b.reports[1:]
	case len(b.reports) == 1:
		b.delivered = adds == b.adds
	}
}

// outstanding reports whether the gateway has not accepted every event and the newest
// added state.
func (b *backlog) outstanding() bool { return len(b.reports) > 0 && !b.delivered }

// events returns how many events have not been accepted yet.
func (b *backlog) events() (n int) {
	for _, r := range b.reports {
		n += len(r.Events)
	}
	return n
}
