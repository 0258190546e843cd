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
	State  StreamState `json:"state,omitempty"`  // Ended also stands for Upcoming and NotALiveStream during the watch
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
}

func (c claim) open() bool { return c.State != "" }

// confirmAfter returns how much later a second answer confirms the claim. By then the next
// segment of a stream that goes on has been published and analysed, which contradicts it.
func (c claim) confirmAfter(feeds mediaFeeds) time.Duration {
	after := refusalConfirm
	if c.State == Ended {
		after = endConfirm
	}
	for _, f := range feeds {
		if last, ok := f.listing.last(); ok {
			after = max(after, last.Duration+claimInterval)
		}
	}
	return after
}

// confirmsClaim reports whether the same answer to a question that began at a time confirms
// the claim.
func (s *state) confirmsClaim(answer StreamState, began time.Time) bool {
	c := s.Resolve.Claim
	return c.State == answer && !began.Before(c.At.Add(c.confirmAfter(s.Feeds)))
}

// handleClaim takes in an answer that would end the watch (decision S19). A
// private video ends the watch at once, and so does any claim while all playlists
// stand still. Otherwise a second equal answer ends the watch, confirmAfter the
// first or later. A segment published and analysed between the two drops the claim.
func (w *Watcher) handleClaim(o Resolution) {
	state := o.State
	if state == Upcoming || state == NotALiveStream {
		state = Ended
	}
	if state == Private || w.state.confirmsClaim(state, o.Began) || w.state.Feeds.standStill(w.now) {
		if state == Ended {
			w.end(event.EndedByNotLive)
		} else {
			w.fail(refusals[state], o.Detail)
		}
		return
	}
	w.recordClaim(o, state)
}

// handleClaimWhileWaiting takes in an answer that would end the wait for the start. Private
// is final, and so is what the first answers say (section 7.2). After a good answer, a
// second equal one ends the wait, confirmAfter the first or later (decision S19).
func (w *Watcher) handleClaimWhileWaiting(o Resolution) {
	switch {
	case w.state.Stream == monitor.StreamUpcoming && o.State != Private && !w.state.confirmsClaim(o.State, o.Began):
		w.recordClaim(o, o.State)
	case o.State == Ended:
		w.end(event.EndedByNotLive)
	default:
		w.fail(refusals[o.State], o.Detail)
	}
}

// recordClaim records an unconfirmed claim. The question is asked again soon.
func (w *Watcher) recordClaim(o Resolution, state StreamState) {
	r := &w.state.Resolve
	if r.Claim.State != state {
		r.Claim = claim{State: state, At: w.now, Egress: o.Egress}
	}
	r.NextAt = w.now.Add(endConfirm)
	if at := r.Claim.At.Add(r.Claim.confirmAfter(w.state.Feeds)); at.After(w.now) {
		r.NextAt = instant.Earliest(r.NextAt, at)
	}
	w.logWarn("An answer says that the stream is over or refused; the worker asks again before it ends the watch", map[string]any{
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

// standStill reports whether every feed has stood still for standstillLimit. A
// feed stands still while its readings show no new segment, or while they all
// fail. One failed reading proves nothing.
func (all mediaFeeds) standStill(now time.Time) bool {
	for _, f := range all {
		still := f.LastReadAt.Sub(f.Newest.unchangedSince())
		if f.failing() {
			still = now.Sub(f.failingSince)
		}
		if still < standstillLimit {
			return false
		}
	}
	return true
}
