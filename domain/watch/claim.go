package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// claim is an answer that would end the watch and is not confirmed yet: the
// stream is over, or the video is refused (decision S19). One such answer may be
// wrong, above all after a 403. The zero value is no claim.
type claim struct {
	State StreamState `json:"state,omitempty"` // Ended for every way to say that the stream is not live
	At    time.Time   `json:"at,omitzero"`     // when it was first said
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

// confirmAfter is how far apart the same claim must be made twice.
func (c claim) confirmAfter() time.Duration {
	if c.State == Ended {
		return endConfirm
	}
	return refusalConfirm
}

func (c claim) open() bool { return c.State != "" }

// claimed weighs an answer that would end the watch (decision S19). It ends at
// once for a private video, and for any other claim when the playlist has stood
// still for 30 s. Otherwise the same claim must be made twice, far enough apart,
// with no segment analysed in between.
func (w *Watcher) claimed(o Resolution) {
	r := &w.state.Resolve
	state := o.State
	if state == Upcoming || state == NotALiveStream {
		state = Ended
	}
	confirmed := r.Claim.State == state && !o.Began.Before(r.Claim.At.Add(r.Claim.confirmAfter()))
	if state == Private || confirmed || w.standsStill() {
		if state == Ended {
			w.end(event.EndedByNotLive)
		} else {
			w.fail(refusals[state], o.Detail)
		}
		return
	}
	if r.Claim.State != state {
		r.Claim = claim{State: state, At: w.now}
	}
	r.Next = w.now.Add(endConfirm)
	if at := r.Claim.At.Add(r.Claim.confirmAfter()); at.After(w.now) {
		r.Next = earliest(r.Next, at)
	}
	w.logWarn("The page says that the stream is over or refused; it is asked again before that is believed", map[string]any{
		"state": o.State, "detail": o.Detail,
	})
}

// contradictClaim drops a claim because a new segment has been analysed.
func (w *Watcher) contradictClaim() {
	r := &w.state.Resolve
	if !r.Claim.open() {
		return
	}
	r.Next = r.Claim.At.Add(liveCheck)
	r.Claim = claim{}
}

// standsStill reports whether the readings of standstillLimit showed no new
// segment in any playlist, or all of them failed. A single failed reading shows
// nothing.
func (w *Watcher) standsStill() bool {
	for _, f := range w.state.Feeds {
		still := f.LastReadAt.Sub(f.Newest.unchangedSince())
		if !f.failingSince.IsZero() {
			still = w.now.Sub(f.failingSince)
		}
		if still < standstillLimit {
			return false
		}
	}
	return true
}
