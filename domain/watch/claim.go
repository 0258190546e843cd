package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// claim is an unconfirmed answer that would end the watch: the stream is over, or
// the video is refused (decision S19). One such answer may be wrong, above all
// after a 403. The zero value is no claim.
type claim struct {
	State  StreamState `json:"state,omitempty"`  // Ended also stands for Upcoming, Offline, ServerDown and NotALiveStream during the watch
	At     time.Time   `json:"at,omitzero"`      // of the first such answer
	Egress string      `json:"egress,omitempty"` // the address that asked for it
}

// refusals are the states in which the video cannot be seen, with the reason
// of the event that ends the watch (section 7.2).
var refusals = map[StreamState]string{
	NotALiveStream: event.ReasonNotALiveStream,
	Private:        event.ReasonVideoPrivate,
	Removed:        event.ReasonVideoUnavailable,
	RegionLocked:   event.ReasonRegionLocked,
	AgeRestricted:  event.ReasonAgeRestricted,
	MembersOnly:    event.ReasonMembersOnly,
	Denied:         event.ReasonAccessDenied,
}

func (c claim) open() bool { return c.State != "" }

// confirmAfter returns how much later a second answer confirms the claim. By then the next
// segment of a stream that goes on has been published and analysed, which contradicts it.
func (c claim) confirmAfter(s *state) time.Duration {
	after := refusalConfirm
	if c.State == Ended {
		after = s.Broadcast.endConfirm()
	}
	for _, f := range s.Feeds {
		if last, ok := f.listing.last(); ok {
			after = max(after, last.Duration+claimInterval)
		}
	}
	return after
}

// confirmedBy reports whether the same answer to a question that began at a time confirms the
// claim.
func (c claim) confirmedBy(answer StreamState, began time.Time, s *state) bool {
	return c.State == answer && !began.Before(c.At.Add(c.confirmAfter(s)))
}

// handleClaim takes in an answer that would end the watch, or the wait for the start (decision
// S19). Private is final. So is any other claim while all playlists stand still and, before the
// start, what the first answers say (section 7.2). Otherwise a second equal answer ends the
// watch, confirmAfter the first or later. A segment published and analysed between the two
// drops the claim.
func (a answers) handleClaim(o Resolution) {
	state, final := o.State, a.state.Stream != monitor.StreamUpcoming
	if a.state.monitoring() {
		limit := standstillLimit
		if state == Upcoming || state == Offline || state == ServerDown || state == NotALiveStream {
			state = Ended
		}
		if state == Ended {
			limit = a.state.Broadcast.standstill()
		}
		returns := a.state.Broadcast.Returns > 0 && a.state.Feeds.ended() // what they listed last was not read as new
		final = !returns && a.state.Feeds.standStill(a.now, limit)
	}
	switch {
	case !final && state != Private && !a.state.Resolve.Claim.confirmedBy(state, o.Began, &a.state):
		a.recordClaim(o, state)
	case state == Ended:
		a.end(event.EndedByNotLive)
	default:
		a.fail(refusals[state], o.Detail)
	}
}

// recordClaim records an unconfirmed claim. The question is asked again soon.
func (a answers) recordClaim(o Resolution, state StreamState) {
	r := &a.state.Resolve
	if r.Claim.State != state {
		r.Claim = claim{State: state, At: a.now, Egress: o.Egress}
	}
	r.NextAt = a.now.Add(endConfirm)
	if state == Ended {
		r.NextAt = a.now.Add(a.state.Broadcast.nextQuestion())
	}
	if at := r.Claim.At.Add(r.Claim.confirmAfter(&a.state)); at.After(a.now) {
		r.NextAt = instant.Earliest(r.NextAt, at)
	}
	a.logWarn("An answer says that the stream is over or refused; the worker asks again before it ends the watch", map[string]any{
		"state": o.State, "detail": o.Detail,
	})
}

// contradictClaim drops a claim because a segment has been analysed that was published at a
// time or later. The last segments before a claim prove nothing, as they precede each end.
func (r *resolveState) contradictClaim(published time.Time, e *emitter) {
	if !r.Claim.open() || published.Before(r.Claim.At) {
		return
	}
	r.NextAt = r.Claim.At.Add(liveCheck)
	r.Claim = claim{}
	e.revise()
}

// standStill reports whether every feed has stood still for this long. A
// feed stands still while its readings show no new segment, or while they all
// fail. One failed reading proves nothing.
func (all mediaFeeds) standStill(now time.Time, limit time.Duration) bool {
	for _, f := range all {
		still := f.LastReadAt.Sub(f.Newest.unchangedSince())
		if f.failing() {
			still = now.Sub(f.failingSince)
		}
		if still < limit {
			return false
		}
	}
	return true
}
