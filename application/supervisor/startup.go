package supervisor

import (
	"maps"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// startup is the phase in which a gateway brings monitors and workers together after its
// start (section 10.4). It ends when all that the first comparison has found is decided, or at
// a deadline. It counts the results for a line of the log. Only the loop changes it.
type startup struct {
	over        chan struct{} // closed at its end; nothing changes from then on
	known       bool          // the monitors were read
	comparisons int           // that have read both monitors and workers
	claiming    bool          // more reservations may be due
	leader      bool
	err         error // of the last observation
	active      map[monitor.ID]bool
	undecided   map[monitor.ID]bool // claimed, lost or unneeded, and not decided yet
	counts      map[outcome]int
}

// counters lists which outcomes the log line counts, and as what, in its order.
var counters = []struct {
	outcome outcome
	name    string
}{
	{adopted, "adopted"}, {resumed, "resumed"}, {replacedUnreported, "launched"}, {relaunched, "relaunched"}, {failed, "marked_as_error"},
	{zombie, "zombies_deleted"}, {orphan, "orphans_deleted"}, {superseded, "superseded_deleted"}, {leftUnchanged, "changed_meanwhile"}, {skipped, "skipped"},
}

func newStartup() *startup {
	return &startup{
		over: make(chan struct{}), active: map[monitor.ID]bool{}, undecided: map[monitor.ID]bool{}, counts: map[outcome]int{},
	}
}

func (s *startup) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// isComplete reports whether everything is decided. In a shared runtime only a second
// comparison can find a worker missing (evaluate).
func (s *startup) isComplete(sharedRuntime bool) bool {
	needed := 1
	if sharedRuntime {
		needed = 2
	}
	return s.comparisons >= needed && !s.claiming && len(s.undecided) == 0
}

// record records what was claimed, and what a comparison has read.
func (s *startup) record(o observation) {
	if s.isOver() {
		return
	}
	s.claiming = o.claimed > 0
	if !o.compares {
		return
	}
	s.leader, s.err = o.leader, o.err
	if !o.complete {
		return
	}
	s.known = true
	if o.listErr == nil {
		s.comparisons++
	}
	for id := range o.active {
		s.active[id] = true
	}
}

// addActive records an active monitor.
func (s *startup) addActive(id monitor.ID) {
	if !s.isOver() {
		s.active[id] = true
	}
}

// count counts an outcome that was not awaited.
func (s *startup) count(o outcome) {
	if !s.isOver() {
		s.counts[o]++
	}
}

// await records that something about a monitor is to be decided. It is called after tasks.order,
// which settles what was awaited before.
func (s *startup) await(id monitor.ID) {
	if !s.isOver() {
		s.undecided[id] = true
	}
}

// settle counts the decision about a monitor that awaits one.
func (s *startup) settle(id monitor.ID, o outcome) {
	if !s.isOver() && s.undecided[id] {
		delete(s.undecided, id)
		s.counts[o]++
	}
}

// occasion names the comparison, for error_details.
func (s *startup) occasion() string {
	if s.isOver() {
		return "reconciliation"
	}
	return "startup reconciliation"
}

// attributes returns the attributes of the log line.
func (s *startup) attributes(took time.Duration, timedOut bool) []any {
	attrs := []any{"duration_sec", took.Seconds(), "timed_out", timedOut, "elected", s.leader, "active", len(s.active), "unsettled", len(s.undecided)}
	for _, c := range counters {
		attrs = append(attrs, c.name, s.counts[c.outcome])
	}
	if len(s.undecided) > 0 {
		attrs = append(attrs, "unsettled_monitors", slices.Sorted(maps.Keys(s.undecided)))
	}
	if s.err != nil {
		attrs = append(attrs, "error", s.err.Error())
	}
	return attrs
}

// concerns returns a predicate: a monitor satisfies it if it is undecided, or if no
// comparison was possible.
func (s *startup) concerns() func(monitor.ID) bool {
	if s.comparisons == 0 {
		return func(monitor.ID) bool { return true }
	}
	undecided := maps.Clone(s.undecided)
	return func(id monitor.ID) bool { return undecided[id] }
}
