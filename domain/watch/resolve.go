package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// resolveState is the state of the resolve lane: its next questions and the
// results of the last ones. Times are the clock's.
type resolveState struct {
	NextAt       time.Time `json:"next_at"`                 // when the next regular question is due
	LastBegan    time.Time `json:"last_began,omitzero"`     // when the last question with an answer was asked
	QuotaWholeAt time.Time `json:"quota_whole_at,omitzero"` // when the whole questionQuota is there again (S7)
	Failures     int       `json:"failures,omitempty"`      // questions in a row without an answer
	Refused      bool      `json:"refused,omitempty"`       // the source refused the address that asked last, and nothing was answered since
	Claim        claim     `json:"claim,omitzero"`
	ProbeDue     bool      `json:"probe_due,omitempty"` // the next task is a probe (section 7.4)
	ProbeAt      time.Time `json:"probe_at,omitzero"`
	MissingCount int       `json:"missing_count,omitempty"` // probes in a row that found no stream
}

// spendQuota takes a question that began at a time from the stream's quota.
func (r *resolveState) spendQuota(began time.Time) {
	r.QuotaWholeAt = instant.Latest(r.QuotaWholeAt, began).Add(quotaInterval)
}

// quotaAt returns from when on the quota permits a question.
func (r *resolveState) quotaAt() time.Time {
	return r.QuotaWholeAt.Add(-(questionQuota - 1) * quotaInterval)
}

// answers handles what the resolve lane finds out: answers to questions about the stream's state,
// and those of probes.
type answers struct{ *stream }

// handle takes in the result of a question about the stream's state.
func (a answers) handle(o Resolution) {
	r := &a.state.Resolve
	mayBeBack := a.mayBeBack(o)
	for _, f := range a.state.Feeds {
		if f.Outage.alertable(o.Began) && !f.Outage.alertable(r.LastBegan) {
			r.Failures = 0 // the first question about this outage starts the backoff again (S6)
		}
		f.Outage.RenewAt = time.Time{}
	}
	r.LastBegan = o.Began
	if a.state.Broadcast.learn(o, a.state.monitoring()) {
		a.end(event.EndedByNotLive) // another one can only begin after the end of this one
		return
	}
	if !o.State.Known() {
		a.handleNoAnswer(o)
		return
	}
	r.Failures, r.Refused = 0, false
	a.recordObserved()
	if a.state.monitoring() {
		a.handleWhileMonitoring(o, mayBeBack)
	} else {
		a.handleWhileWaiting(o)
	}
}

// handleWhileWaiting takes in an answer in Waiting Mode (sections 7.1, 7.2, 7.5).
func (a answers) handleWhileWaiting(o Resolution) {
	answered := o.State
	o.State = a.rules.whileWaiting(o.State, o.Began)
	switch o.State {
	case Ended, NotALiveStream, Private, Removed, RegionLocked, AgeRestricted, MembersOnly, Denied:
		a.handleClaim(o)
	case Live:
		a.start(o.ActualStart)
		manifests(a).adopt(o)
		a.state.Resolve.NextAt = a.now.Add(liveCheck)
	default: // Upcoming, Offline
		a.state.Resolve.Claim = claim{}
		a.state.Stream = monitor.StreamUpcoming
		a.setStatus(monitor.Waiting)
		a.state.Feeds, a.state.Manifest = nil, manifest{}
		if at := a.plan().expiresAt(); !at.IsZero() && !a.now.Before(at) {
			a.expire()
			return
		}
		a.state.Schedule.alertDelay(a.rules, &a.emitter)
		a.state.Resolve.NextAt = a.rules.nextPoll(a.now, a.state.Schedule.DelayAlerted)
		if answered != o.State {
			a.state.Blind.LastError = string(answered) + ": " + o.Detail
		}
	}
}

// handleWhileMonitoring takes in an answer in Monitoring Mode (section 7.6). The question was the
// regular one, was about an outage (decision S6), or renewed the manifest (decision S7).
// mayBeBack says that media which fail may be back by now.
func (a answers) handleWhileMonitoring(o Resolution, mayBeBack bool) {
	r, b := &a.state.Resolve, a.state.Broadcast
	r.NextAt = a.now.Add(liveCheck)
	o.State = a.rules.whileWatched(o.State, o.Began)
	switch {
	case o.State == Live && b.Returns > 0 && r.Claim.State == Ended && a.state.Feeds.ended():
		manifests(a).adopt(o) // a site learns of an end later than its playlists, and of a return, too
		r.NextAt = a.now.Add(b.nextQuestion())
	case o.State == Live, o.State == Offline && b.Returns == 0:
		mayBeBack = mayBeBack || b.Returns > 0 && r.Claim.open()
		r.Claim = claim{}
		a.state.Stream = monitor.StreamLive
		manifests(a).adopt(o)
		if a.state.Feeds.lookFirst(a.now, o.Began, mayBeBack) {
			r.NextAt = a.now.Add(lookAgain)
			return
		}
		a.state.Feeds.alertOutage(&a.emitter, o.Began)
	default:
		a.handleClaim(o)
	}
}

// mayBeBack reports whether the media of an outage may be back, as far as the answer to a
// question tells. That is so after a time without an answer, whose cause may have been this
// host's network, if no playlist has moved since. It is also so if the first
// answer in the outage renews a URL. The quota of questions was used up until then.
func (a answers) mayBeBack(o Resolution) bool {
	r, feeds := &a.state.Resolve, a.state.Feeds
	if r.Failures > 0 || a.now.Sub(o.Began) > lookAgain {
		return !slices.ContainsFunc(feeds, func(f *mediaFeed) bool { return a.now.Sub(f.Newest.SeenAt) < stallLimit })
	}
	longest := feeds.longestOutage(func(f *mediaFeed) bool { return f.Outage.alertable(o.Began) })
	return longest != nil && !longest.RenewAt.IsZero() && longest.Since.After(r.LastBegan)
}

// handleNoAnswer takes in a question without an answer. It decides when to ask
// again (section 10.2) and whether to probe (section 7.4).
func (a answers) handleNoAnswer(o Resolution) {
	r := &a.state.Resolve
	for _, f := range a.state.Feeds {
		f.Outage.LookAt = time.Time{} // the failures since then may be this host's, too
	}
	r.Failures++
	r.NextAt = a.now.Add(resolveBackoff.Delay(r.Failures))
	urgent := !a.state.monitoring() || a.state.Feeds.inOutage()
	if !urgent && r.Failures > questionRetries {
		r.NextAt = a.now.Add(liveCheck)
	}
	if !a.state.monitoring() {
		a.setStatus(monitor.Waiting)
	}
	switch {
	case o.State.Refused():
		r.Refused = true
		a.state.noteRefusal()
	case o.State == ManifestFound:
		if a.state.Blind.Refused {
			a.state.dropBlindTime(a.now)
		}
		r.Refused, a.state.Blind.Refused = false, false
	}
	outages(a).alertUnanswered()
	if o.State == ManifestFound {
		a.logWarn("The stream's state could not be learned, but its manifest was found; the stream is watched all the same", map[string]any{
			"source": o.Source, "detail": o.Detail, "failures": r.Failures,
		})
		manifests(a).adopt(o)
		return
	}
	a.state.Blind.recordNoAnswer(a.now, o)
	a.logWarn("The stream's state could not be learned; the worker asks again", map[string]any{
		"state": o.State, "detail": o.Detail, "failures": r.Failures,
	})
	if urgent && (r.ProbeAt.IsZero() || !a.now.Before(r.ProbeAt.Add(probeInterval))) {
		r.ProbeDue = true
	}
}

// handleProbe takes in the answer of a probe. A second answer in a row that the stream
// does not exist ends the watch (section 7.4). recordObserved breaks the row.
func (a answers) handleProbe(o ProbeResult) {
	r := &a.state.Resolve
	r.ProbeDue, r.ProbeAt = false, a.now
	switch {
	case !o.Known:
	case o.Exists:
		r.MissingCount = 0
	default:
		r.MissingCount++
		if r.MissingCount > 1 {
			a.fail(event.ReasonVideoUnavailable, o.Detail)
		}
	}
}
