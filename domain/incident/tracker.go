package incident

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// Tracker follows the incidents of one monitor: it decides which of them an input concerns. Make
// it with NewTracker.
type Tracker struct {
	newest    *Incident
	concerned *Incident // by the last step
	now       time.Time // of the present step
	changes   []Change  // of the present step; the last is of the newest incident
}

// NewTracker makes a tracker that goes on from the newest incident of a monitor; nil:
// the monitor has had none.
func NewTracker(newest *Incident) *Tracker { return &Tracker{newest: newest} }

// Step takes in an input by now. It returns what has changed, in order: at most the end
// of one incident and the beginning of another. Times of the input that are later than
// now count as now, because the clock of a worker may be ahead.
func (t *Tracker) Step(now time.Time, in Input) []Change {
	in = withTimes(in, func(at time.Time, _ bool) time.Time {
		if at.After(now) {
			return now
		}
		return at
	})
	wasOpen := t.newest != nil && t.newest.State == Open
	t.now, t.changes = now, nil
	if t.newest != nil {
		t.changes = []Change{{Incident: t.newest, before: t.newest.clone(), now: now}}
	}
	switch in := in.(type) {
	case Began:
		t.begin(in)
	case MonitorEnded:
		t.endMonitor(in)
	case Tick:
		t.tick()
	default:
		if change := t.change(); change != nil {
			change.take(in)
		}
	}
	if t.newest != nil {
		t.newest.judge(now)
	}
	changes := slices.DeleteFunc(t.changes, Change.isEmpty)
	t.concerned = nil
	if wasOpen || len(changes) > 0 || t.newest != nil && t.newest.Conditions.named(conditionIn(in)) != nil {
		t.concerned = t.newest
	}
	return changes
}

// Newest returns the newest incident, or nil if the monitor has had no trouble.
func (t *Tracker) Newest() *Incident { return t.newest }

// Concerned returns the incident that the input of the last step belongs to; nil: none.
// That incident was open before the step, was changed by it, or has the input's condition.
func (t *Tracker) Concerned() *Incident { return t.concerned }

// change returns the change of the newest incident in the present step; nil: there is no incident.
func (t *Tracker) change() *Change {
	if len(t.changes) == 0 {
		return nil
	}
	return &t.changes[len(t.changes)-1]
}

// begin starts an episode, in the newest incident or in another.
func (t *Tracker) begin(in Began) {
	if in.Alert != nil {
		alert := *in.Alert
		alert.StoredAt, in.Alert = t.now, &alert
	}
	if change := t.change(); change == nil || !change.begin(in) {
		t.open(in.At, in)
	}
}

// open opens another incident, with episodes that have begun. It takes over what lasts in the
// resolved one before it, with its onset.
func (t *Tracker) open(at time.Time, began ...Began) {
	next := &Incident{State: Open, OpenedAt: at, Quiet: FirstQuiet, Acknowledgements: []Acknowledgement{}}
	if t.newest != nil {
		next.AskedAt = t.newest.AskedAt
		for _, c := range t.newest.Conditions.Lasting() {
			next.addEpisode(Began{Condition: c.Name, StartedAt: c.LastStartedAt, Alert: c.Alert})
		}
		t.newest.Conditions.end(at)
	}
	for _, in := range began {
		next.addEpisode(in)
	}
	next.Severity = next.Conditions.severityAt(at)
	for n := range next.Conditions {
		next.Conditions[n].BeganSeverity = next.Severity
	}
	t.newest = next
	t.changes = append(t.changes, Change{Incident: next, now: t.now})
	t.change().log(Entry{Kind: WasOpened, At: at})
	t.change().passTime(at)
}

// endMonitor ends every condition. A monitor that failed leaves the condition error,
// once.
func (t *Tracker) endMonitor(in MonitorEnded) {
	if t.newest != nil {
		t.change().passTime(in.At)
		t.newest.Conditions.end(in.At)
	}
	if in.Failed && (t.newest == nil || t.newest.Conditions.named(Error) == nil) {
		t.begin(Began{Condition: Error, StartedAt: in.At, At: in.At, Alert: in.Alert})
	}
	if t.newest == nil || t.newest.State != Open {
		return
	}
	if since, over := t.newest.Conditions.quietSince(); over {
		t.change().resolve(instant.Latest(in.At, since))
	}
}

// tick lets time pass. Conditions that go on for too long in a resolved incident open one: a new
// incident if a person has resolved it, else the same one.
func (t *Tracker) tick() {
	change := t.change()
	if change == nil {
		return
	}
	change.passTime(t.now)
	if due := change.DueAt(); change.State != Resolved || due.IsZero() || due.After(t.now) {
		return
	}
	if change.resolvedForGood() {
		t.open(t.now)
		return
	}
	change.State, change.ResolvedAt = Open, time.Time{}
	change.log(Entry{Kind: WasReopened, At: t.now})
	change.passTime(t.now)
}
