package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// claim is an answer that would end the watch and that nothing confirms yet:
// the stream is over, or the video is refused (decision S19). A page that says
// so once may be wrong, above all after a 403.
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

func (c claim) pending() bool { return c.State != "" }

// claimed weighs an answer that would end the watch (decision S19). A private
// video is over. Any other claim is believed when the playlist has stood still
// for 30 s, or when it was made before, long enough ago, and no segment has
// been analysed since.
func (w *Watcher) claimed(o Resolution) {
	a := &w.life.Asking
	state := o.State
	if state == Upcoming || state == NotALiveStream {
		state = Ended
	}
	confirmed := a.Claim.State == state && !o.Began.Before(a.Claim.At.Add(a.Claim.confirmAfter()))
	if state == Private || confirmed || w.standsStill() {
		if state == Ended {
			w.end(event.EndedByNotLive)
		} else {
			w.fail(refusals[state], o.Detail)
		}
		return
	}
	if a.Claim.State != state {
		a.Claim = claim{State: state, At: w.now}
	}
	a.Next = w.now.Add(endConfirm)
	if at := a.Claim.At.Add(a.Claim.confirmAfter()); at.After(w.now) {
		a.Next = earliest(a.Next, at)
	}
	w.note(true, "YouTube says that the stream is over or refused; it is asked again before that is believed", map[string]any{
		"state": o.State, "detail": o.Detail,
	})
}

// contradictClaim drops a claim because a new segment has been analysed.
func (w *Watcher) contradictClaim() {
	a := &w.life.Asking
	if !a.Claim.pending() {
		return
	}
	a.Next = a.Claim.At.Add(liveCheck)
	a.Claim = claim{}
}

// standsStill reports whether no playlist has moved for standstillLimit, as far
// as was seen: the readings of that time showed nothing new, or all of them
// failed. A single failed reading shows nothing.
func (w *Watcher) standsStill() bool {
	for _, f := range w.life.Feeds {
		still := f.ReadAt.Sub(f.Newest.stillSince())
		if !f.failingSince.IsZero() {
			still = w.now.Sub(f.failingSince)
		}
		if still < standstillLimit {
			return false
		}
	}
	return true
}
