package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// asking is the state of the resolving lane: when to ask next, and how the
// last questions fared.
type asking struct {
	Next      time.Time `json:"next"`
	Began     time.Time `json:"began,omitzero"`       // of the last question answered or failed
	RenewAt   time.Time `json:"renew_at,omitzero"`    // the manifest's URL has expired and is to be renewed then (decision S7)
	Renewed   time.Time `json:"renewed,omitzero"`     // when that was last asked for
	Failures  int       `json:"failures,omitempty"`   // questions in a row without an answer
	LastError string    `json:"last_error,omitempty"` // of the latest of those questions
	Claim     claim     `json:"claim,omitzero"`       // the last answer, if it claims an end that is not confirmed
	Probe     bool      `json:"probe,omitempty"`      // oEmbed is to be asked next (7.4)
	ProbedAt  time.Time `json:"probed_at,omitzero"`
	Missing   int       `json:"missing,omitempty"` // oEmbed answers in a row that there is no such video
}

// nextResolving is the task of the resolving lane: when the cadence says so, at
// once when the manifest has expired, and at every moment at which something is
// decided by the answer, unless it has been asked since.
func (w *Watcher) nextResolving() Task {
	a := w.life.Asking
	if a.Probe {
		return Task{Kind: TaskProbe, At: w.now}
	}
	at := a.Next
	at = earliest(at, a.RenewAt)
	moments := []time.Time{w.life.Blind.dueAt(), w.expiresAt()}
	for _, f := range w.life.Feeds {
		moments = append(moments, f.Outage.judgeAt(), f.searchAt())
	}
	for _, moment := range moments {
		if a.Began.Before(moment) {
			at = earliest(at, moment)
		}
	}
	return Task{Kind: TaskResolve, At: at}
}

// resolved takes in what came of asking for the stream's state.
func (w *Watcher) resolved(o Resolution) {
	a := &w.life.Asking
	for _, f := range w.life.Feeds {
		if f.Outage.due(o.Began) && !f.Outage.due(a.Began) {
			a.Failures = 0 // the first question about this outage: its backoff starts afresh (S6)
		}
	}
	if !a.RenewAt.IsZero() {
		a.RenewAt, a.Renewed = time.Time{}, o.Began
	}
	a.Began = o.Began
	if !o.State.Answers() {
		w.unanswered(o)
		return
	}
	a.Failures, a.LastError = 0, ""
	w.learned()
	if w.monitoring() {
		w.resolvedWhileMonitoring(o)
	} else {
		w.resolvedWhileWaiting(o)
	}
}

// resolvedWhileWaiting is Waiting Mode (sections 7.1, 7.2, 7.5).
func (w *Watcher) resolvedWhileWaiting(o Resolution) {
	reason, over := refusals[o.State]
	switch {
	case over:
		w.fail(reason, o.Detail)
	case o.State == Ended:
		w.end(event.EndedByNotLive)
	case o.State == Live:
		w.start(o.ActualStart)
		w.adopt(o)
		w.life.Asking.Next = w.now.Add(liveCheck)
	default: // Upcoming, Offline
		w.life.Stream = monitor.StreamUpcoming
		w.become(monitor.Waiting)
		w.forget()
		if at := w.expiresAt(); !at.IsZero() && !w.now.Before(at) {
			w.expire()
			return
		}
		if late, ok := w.life.Schedule.late(w.rules, w.now); ok {
			w.emit(event.StreamDelayed, late)
		}
		w.life.Asking.Next = w.life.Schedule.nextPoll(w.rules, w.now)
	}
}

// resolvedWhileMonitoring is the periodic check, the judgement of an outage
// and the new address of a manifest, all in one (section 7.6, decisions S6, S7).
func (w *Watcher) resolvedWhileMonitoring(o Resolution) {
	a := &w.life.Asking
	a.Next = w.now.Add(liveCheck)
	switch o.State {
	case Live, Offline:
		a.Claim = claim{}
		w.life.Stream = monitor.StreamLive
		w.adopt(o)
		w.provenLive(o.Began)
	default:
		w.claimed(o)
	}
}

// unanswered takes in a question that was not answered, and decides when to ask
// again (section 10.2) and whether to ask oEmbed if the video exists at all
// (7.4).
func (w *Watcher) unanswered(o Resolution) {
	a := &w.life.Asking
	a.Failures++
	a.Next = w.now.Add(manifestBackoff.delay(a.Failures))
	pressing := !w.monitoring() || w.outage()
	if !pressing && a.Failures > questionRetries {
		a.Next = w.now.Add(liveCheck)
	}
	if !w.monitoring() {
		w.become(monitor.Waiting)
	}
	if w.moving() { // nobody says that it is live, but the playlist does
		w.provenLive(o.Began)
	}
	if o.State == ManifestFound {
		w.adopt(o)
		return
	}
	a.LastError = string(o.State) + ": " + o.Detail
	w.life.Blind.unanswered(w.now, a.LastError)
	w.note(true, "The stream's state could not be learned", map[string]any{
		"state": o.State, "detail": o.Detail, "failures": a.Failures,
	})
	if pressing && (a.ProbedAt.IsZero() || !w.now.Before(a.ProbedAt.Add(probeInterval))) {
		a.Probe = true
	}
}

// probed takes in oEmbed's answer. That a video is missing is believed when it
// is said twice, with no answer about its state in between.
func (w *Watcher) probed(o ProbeResult) {
	a := &w.life.Asking
	a.Probe, a.ProbedAt = false, w.now
	switch {
	case !o.Known:
	case o.Exists:
		a.Missing = 0
	default:
		a.Missing++
		if a.Missing > 1 {
			w.fail(event.ReasonVideoUnavailable, "oEmbed: "+o.Detail)
		}
	}
}

// nowhere says why an answer does not tell where the media are.
func (o Resolution) nowhere() string {
	if o.Detail == "" {
		return "the stream is live but its encoder sends nothing"
	}
	return o.Detail
}

// located tells whether the answer says where the media are.
func (o Resolution) located() bool { return len(o.Renditions) > 0 || o.Manifest != "" }
