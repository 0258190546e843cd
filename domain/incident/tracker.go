package incident

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Tracker follows the incidents of one monitor. Make it with NewTracker.
type Tracker struct {
	newest  *Incident
	now     time.Time // of the present step
	input   Input     // of the present step
	wasOpen bool      // newest was, before the present step
	changes []Change  // of the present step
}

// Change is an incident that a step has changed, with new lines of its log.
type Change struct {
	// Incident is the incident after the step. Its ID is empty if the step has opened it; the
	// caller then sets the ID.
	Incident *Incident
	Log      []Entry
}

// NewTracker makes a tracker that goes on from the newest incident of a monitor; nil:
// the monitor has had none.
func NewTracker(newest *Incident) *Tracker { return &Tracker{newest: newest} }

// Step takes in an input by now. It returns what has changed, in order: at most the end
// of one incident and the beginning of another. Times of the input that are later than
// now count as now, because the clock of a worker may be ahead.
func (t *Tracker) Step(now time.Time, in Input) []Change {
	t.now, t.input, t.wasOpen, t.changes = now, in, t.isOpen(), nil
	switch in := in.(type) {
	case Began:
		t.begin(in)
	case Ended:
		t.end(in)
	case MonitorEnded:
		t.endMonitor(in)
	case Good:
		t.good(in)
	case Tick:
		t.passTime(now)
		t.openWhatLasts()
	case PictureAdded:
		t.addPicture(in.Picture)
	case Acknowledge:
		t.acknowledge(in)
	case Resolve:
		t.resolveAtOnce(in)
	case Note:
		t.log(Entry{Kind: Noted, At: now, By: in.By, Text: in.Text})
	case Label:
		t.label(in)
	}
	t.judge()
	return t.changes
}

// Newest returns the newest incident, or nil if the monitor has had no trouble.
func (t *Tracker) Newest() *Incident { return t.newest }

// Concerned returns the incident that the input of the last step belongs to; nil: none.
// That incident was open before the step, was changed by it, or has the input's condition.
func (t *Tracker) Concerned() *Incident {
	if t.wasOpen || len(t.changes) > 0 || t.newest != nil && t.newest.condition(conditionIn(t.input)) != nil {
		return t.newest
	}
	return nil
}

// change applies f to the newest incident, which exists, and records the change if
// there is one.
func (t *Tracker) change(f func(*Incident)) {
	before := t.newest.clone()
	f(t.newest)
	if !before.equal(t.newest) {
		t.record()
	}
}

// record returns the change of the newest incident in this step, made if needed.
func (t *Tracker) record() *Change {
	if n := len(t.changes); n > 0 && t.changes[n-1].Incident == t.newest {
		return &t.changes[n-1]
	}
	t.changes = append(t.changes, Change{Incident: t.newest})
	return &t.changes[len(t.changes)-1]
}

// log adds a line to the log of the newest incident.
func (t *Tracker) log(e Entry) {
	if t.newest == nil {
		return
	}
	c := t.record()
	c.Log = append(c.Log, e)
}

// judge says how severe is what lasts now. A severity that time has yet to raise counts
// from the next Tick, which also logs it.
func (t *Tracker) judge() {
	if t.newest == nil {
		return
	}
	t.change(func(i *Incident) {
		if i.SeverityNow = 0; i.State == Open {
			i.SeverityNow = min(i.severityAt(t.now), i.Severity)
		}
	})
}

// clamp returns a time of an input, which is not later than now.
func (t *Tracker) clamp(at time.Time) time.Time {
	if at.After(t.now) {
		return t.now
	}
	return at
}

func (t *Tracker) isOpen() bool { return t.newest != nil && t.newest.State == Open }

// passTime applies what time alone changes until at: the severity, the end of the
// condition error, and the resolution of the incident.
func (t *Tracker) passTime(at time.Time) {
	if !t.isOpen() {
		return
	}
	t.raise(at)
	t.change(func(i *Incident) {
		if c := i.condition(Error); c != nil && c.Lasts() && c.lasted(at) >= ErrorKept {
			c.end(c.LastStartedAt.Add(ErrorKept))
		}
	})
	since, over := t.newest.quietSince()
	if !over {
		return
	}
	if t.newest.condition(Error) != nil {
		t.resolve(since) // nobody watches the stream any more: nothing can come back
	} else if due := since.Add(t.newest.Quiet); !at.Before(due) {
		t.resolve(due)
	}
}

// raise raises the severity to that of what lasts at a time.
func (t *Tracker) raise(at time.Time) {
	if severity := t.newest.severityAt(at); severity > t.newest.Severity {
		t.change(func(i *Incident) { i.Severity = severity })
		t.log(Entry{Kind: SeverityRaised, At: at, Severity: severity})
	}
}

func (t *Tracker) resolve(at time.Time) {
	if at.Before(t.newest.OpenedAt) { // it took over what had ended by then
		at = t.newest.OpenedAt
	}
	t.change(func(i *Incident) { i.State, i.ResolvedAt, i.SeverityNow = Resolved, at, 0 })
	t.log(Entry{Kind: WasResolved, At: at})
}

// begin starts an episode: in the open incident, in the one that was resolved just
// before, or in a new one.
func (t *Tracker) begin(in Began) {
	in.StartedAt, in.At = t.clamp(in.StartedAt), t.clamp(in.At)
	if t.knows(in) {
		t.explain(in)
		return
	}
	t.passTime(in.StartedAt)
	isNew := false
	switch {
	case t.isOpen():
	case t.goesOn(in.Condition):
		t.explain(in)
		return
	case t.waited(in):
		t.beginResolved(in)
		return
	case t.newest != nil && t.newest.ResolvedBy == "" && in.StartedAt.Sub(t.newest.ResolvedAt) <= ReopenWithin:
		t.change(func(i *Incident) {
			i.State, i.ResolvedAt = Open, time.Time{}
			i.Quiet = min(2*i.Quiet, MaxQuiet)
			i.Reopened, i.ReopenedAt = i.Reopened+1, in.At
			i.AcknowledgedBy, i.AcknowledgedAt, i.AcknowledgedSeverity = "", time.Time{}, 0
		})
		t.log(Entry{Kind: WasReopened, At: in.At})
	default:
		isNew = true
		t.end(Ended{Condition: in.Condition, EndedAt: in.StartedAt}) // that was not reported
		t.open(in.At)
	}
	t.change(func(i *Incident) {
		if i.begin(in); isNew {
			i.Severity = i.severityAt(in.At)
		}
	})
	t.passTime(in.At)
}

// knows reports whether an episode is known already. Other episodes of a condition
// that lasts are not: the end of the one before was lost.
func (t *Tracker) knows(in Began) bool {
	if t.newest == nil {
		return false
	}
	c := t.newest.condition(in.Condition)
	switch {
	case c == nil:
		return false
	case c.LastStartedAt.Equal(in.StartedAt):
		return true
	case !in.MayRepeat:
		return false
	case c.Lasts():
		return true
	}
	stale := c.EndedAt.Sub(in.StartedAt)
	return stale > 0 && stale < monitor.MaxOvertaken
}

// end ends the episode that lasts. It ignores the end of an earlier episode: that input
// is a copy that was delayed on its way.
func (t *Tracker) end(in Ended) {
	if t.newest == nil {
		return
	}
	c := t.newest.condition(in.Condition)
	if c == nil || !c.Lasts() {
		return
	}
	another := !in.StartedAt.IsZero() && !c.LastStartedAt.Equal(t.clamp(in.StartedAt))
	if another && (in.EndedAt.Before(c.LastStartedAt) || in.Condition == Late) { // a start may be moved to one before the end
		return
	}
	at := t.clamp(in.EndedAt)
	t.passTime(at)
	t.change(func(i *Incident) { i.condition(in.Condition).end(at) })
}

// endMonitor ends every condition. A monitor that failed leaves the condition error,
// once.
func (t *Tracker) endMonitor(in MonitorEnded) {
	at := t.clamp(in.At)
	t.passTime(at)
	if t.newest != nil {
		t.endAll(at)
	}
	if in.Failed && (t.newest == nil || t.newest.condition(Error) == nil) {
		t.begin(Began{Condition: Error, StartedAt: at, At: at, Alert: in.Alert})
	}
	if !t.isOpen() {
		return
	}
	if since, over := t.newest.quietSince(); over {
		if at.After(since) {
			since = at
		}
		t.resolve(since)
	}
}

// addPicture shows a picture that is better than the one shown, or of the same evidence.
// Files are stored one by one, so the evidence has chosen among more of them by then.
func (t *Tracker) addPicture(p Picture) {
	if t.newest == nil {
		return
	}
	t.change(func(i *Incident) {
		if i.Picture == nil || i.Picture.EvidenceID == p.EvidenceID || i.showsBetter(p, *i.Picture, t.now) {
			i.Picture = &p
		}
	})
}
