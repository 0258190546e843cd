package incident

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// Change is an incident that a step has changed, with new lines of its log. Its methods are the
// transitions of one incident.
type Change struct {
	// Incident is the incident after the step. Its ID is empty if the step has opened it; the
	// caller then sets the ID.
	*Incident

	Log []Entry

	before *Incident // nil: the step has opened it
	now    time.Time
}

// isEmpty reports whether the step has changed nothing.
func (c Change) isEmpty() bool {
	return len(c.Log) == 0 && c.before != nil && c.before.equal(c.Incident)
}

func (c *Change) log(e Entry) { c.Log = append(c.Log, e) }

// take takes in an input that opens no other incident.
func (c *Change) take(in Input) {
	switch in := in.(type) {
	case Ended:
		c.end(in)
	case Good:
		c.good(in)
	case PictureAdded:
		c.show(in.Picture, c.now)
	case Acknowledge:
		c.acknowledge(in.By)
	case Resolve:
		c.resolveAtOnce(in.By)
	case Paused:
		c.pause(in.By)
	case Note:
		c.log(Entry{Kind: Noted, At: c.now, By: in.By, Text: in.Text})
	case Ask:
		c.ask(in)
	case Answered:
		c.answer(in)
	case Explained:
		c.explain(in)
	case Label:
		c.FalsePositive = in.FalsePositive
		c.log(Entry{Kind: Labelled, At: c.now, By: in.By, FalsePositive: in.FalsePositive})
	}
}

// passTime applies what time alone changes until at: the severity, the end of the
// condition error, and the resolution of the incident.
func (c *Change) passTime(at time.Time) {
	if c.State != Open {
		return
	}
	c.raise(at)
	if failed := c.Conditions.lasting(Error); failed != nil && failed.lasted(at) >= ErrorKept {
		failed.end(failed.LastStartedAt.Add(ErrorKept))
	}
	since, over := c.Conditions.quietSince()
	if !over {
		return
	}
	if c.Conditions.named(Error) != nil {
		c.resolve(since) // nobody watches the stream any more: nothing can come back
	} else if due := since.Add(c.Quiet); !at.Before(due) {
		c.resolve(due)
	}
}

// raise raises the severity to that of what lasts at a time.
func (c *Change) raise(at time.Time) {
	if severity := c.Conditions.severityAt(at); severity > c.Severity {
		c.Severity = severity
		c.log(Entry{Kind: SeverityRaised, At: at, Severity: severity})
	}
}

// resolve resolves an incident in which nothing lasts, not before it was opened: it may have taken
// over what had ended by then.
func (c *Change) resolve(at time.Time) {
	at = instant.Latest(at, c.OpenedAt)
	c.State, c.ResolvedAt, c.SeverityNow = Resolved, at, 0
	c.log(Entry{Kind: WasResolved, At: at})
}

// begin starts an episode in the incident if it is open or was resolved just before. It reports
// false if the episode opens another.
func (c *Change) begin(in Began) bool {
	known := c.Conditions.named(in.Condition)
	if known != nil && known.knows(in) {
		known.explain(in)
		return true
	}
	c.passTime(in.StartedAt)
	switch {
	case c.State == Open:
	case known != nil && known.Lasts():
		// It is the same trouble. A worker that started without the state of the one before has found
		// it anew.
		known.explain(in)
		return true
	case in.At.Before(c.ResolvedAt):
		c.beginResolved(in)
		return true
	case !c.resolvedForGood() && in.StartedAt.Sub(c.ResolvedAt) <= ReopenWithin:
		c.reopen(in.At)
	default:
		return false
	}
	c.addEpisode(in)
	c.passTime(in.At)
	c.Conditions.named(in.Condition).BeganSeverity = c.Severity
	return true
}

// beginResolved adds an episode that was detected before the incident was resolved without knowing
// of it. The next Tick decides, because its end may have waited, too.
func (c *Change) beginResolved(in Began) {
	opensAt := c.ResolvedAt
	if c.ResolvedBy != "" && c.Conditions.named(in.Condition) != nil {
		opensAt = opensAt.Add(ResolvedFor)
	}
	c.addEpisode(in)
	c.Conditions.named(in.Condition).OpensAt = opensAt
	c.raise(in.At)
	c.Conditions.named(in.Condition).BeganSeverity = c.Severity
}

// reopen opens the incident again. It then has to be quiet for longer, and somebody has to
// acknowledge it anew.
func (c *Change) reopen(at time.Time) {
	c.State, c.ResolvedAt = Open, time.Time{}
	c.Quiet = min(2*c.Quiet, MaxQuiet)
	c.Reopened, c.ReopenedAt = c.Reopened+1, at
	c.AcknowledgedBy, c.AcknowledgedAt, c.AcknowledgedSeverity = "", time.Time{}, 0
	c.log(Entry{Kind: WasReopened, At: at})
}

// end ends the episode that lasts. It ignores the end of an earlier episode: that input
// is a copy that was delayed on its way.
func (c *Change) end(in Ended) {
	lasting := c.Conditions.lasting(in.Condition)
	if lasting == nil {
		return
	}
	another := !in.StartedAt.IsZero() && !lasting.LastStartedAt.Equal(in.StartedAt)
	if another && (in.EndedAt.Before(lasting.LastStartedAt) || in.Condition == Late) { // a start may be moved to one before the end
		return
	}
	c.passTime(in.EndedAt)
	lasting.end(in.EndedAt)
}

// good ends a condition whose end was not reported, at the time from which on nothing was
// seen of it.
func (c *Change) good(in Good) {
	if lasting := c.Conditions.lasting(in.Condition); lasting != nil && in.ends(*lasting) {
		c.end(Ended{Condition: in.Condition, EndedAt: in.since(*lasting)})
		c.passTime(c.now)
	}
}

func (c *Change) acknowledge(by string) {
	c.log(Entry{Kind: Acknowledged, At: c.now, By: by})
	severity := max(c.Severity, c.Conditions.severityAt(c.now))
	if c.AcknowledgedAt.IsZero() || severity > c.AcknowledgedSeverity || c.AnotherSinceAcknowledged() {
		c.AcknowledgedBy, c.AcknowledgedAt, c.AcknowledgedSeverity = by, c.now, severity
		c.Acknowledgements = append(slices.Clone(c.Acknowledgements), Acknowledgement{by, c.now, severity})
	}
	if failed := c.Conditions.lasting(Error); failed != nil {
		failed.end(c.now)
	}
	c.passTime(c.now)
}

// resolveAtOnce ends the condition error alone: no person can end what goes on in the stream.
func (c *Change) resolveAtOnce(by string) {
	if c.passTime(c.now); c.State == Open {
		for n := range c.Conditions {
			switch one := &c.Conditions[n]; {
			case one.Name == Error && one.Lasts():
				one.end(c.now)
			case one.Lasts():
				one.OpensAt = c.now.Add(ResolvedFor)
			}
		}
		c.State, c.ResolvedAt, c.ResolvedBy = Resolved, c.now, by
	}
	c.log(Entry{Kind: WasResolved, At: c.now, By: by})
}

// pause ends what lasts, because nobody will see its end.
func (c *Change) pause(by string) {
	c.passTime(c.now)
	c.Conditions.end(c.now)
	if c.State != Open {
		return
	}
	c.State, c.ResolvedAt, c.ResolvedBy, c.ResolvedByPause = Resolved, c.now, by, true
	c.log(Entry{Kind: WasPaused, At: c.now, By: by})
}
