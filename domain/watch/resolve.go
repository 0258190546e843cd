package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// resolveState is the state of the resolve lane: when to ask next, and what came
// of the last questions. Times are the clock's.
type resolveState struct {
	Next      time.Time `json:"next"`                 // of the cadence
	Began     time.Time `json:"began,omitzero"`       // of the last question that came back
	RenewAt   time.Time `json:"renew_at,omitzero"`    // when to renew a manifest whose URL has expired (decision S7); zero: none has
	Renewed   time.Time `json:"renewed,omitzero"`     // when the last such renewal began
	Failures  int       `json:"failures,omitempty"`   // questions in a row without an answer
	LastError string    `json:"last_error,omitempty"` // of the latest of those
	Claim     claim     `json:"claim,omitzero"`
	Probe     bool      `json:"probe,omitempty"` // oEmbed is to be asked next (section 7.4)
	ProbedAt  time.Time `json:"probed_at,omitzero"`
	Missing   int       `json:"missing,omitempty"` // oEmbed answers in a row that the video does not exist
}

// resolved takes in what came of asking for the stream's state.
func (w *Watcher) resolved(o Resolution) {
	r := &w.state.Resolve
	for _, f := range w.state.Feeds {
		if f.Outage.due(o.Began) && !f.Outage.due(r.Began) {
			r.Failures = 0 // the first question about this outage has a backoff of its own (S6)
		}
	}
	if !r.RenewAt.IsZero() {
		r.RenewAt, r.Renewed = time.Time{}, o.Began
	}
	r.Began = o.Began
	if !o.State.Answers() {
		w.unanswered(o)
		return
	}
	r.Failures, r.LastError = 0, ""
	w.learned()
	if w.monitoring() {
		w.resolvedWhileMonitoring(o)
	} else {
		w.resolvedWhileWaiting(o)
	}
}

// resolvedWhileWaiting takes in an answer in Waiting Mode (sections 7.1, 7.2,
// 7.5).
func (w *Watcher) resolvedWhileWaiting(o Resolution) {
	reason, refused := refusals[o.State]
	switch {
	case refused:
		w.fail(reason, o.Detail)
	case o.State == Ended:
		w.end(event.EndedByNotLive)
	case o.State == Live:
		w.start(o.ActualStart)
		w.adoptManifest(o)
		w.state.Resolve.Next = w.now.Add(liveCheck)
	default: // Upcoming, Offline
		w.state.Stream = monitor.StreamUpcoming
		w.setStatus(monitor.Waiting)
		w.dropFeeds()
		if at := w.expiresAt(); !at.IsZero() && !w.now.Before(at) {
			w.expire()
			return
		}
		if delayed, ok := w.state.Schedule.delayed(w.rules, w.now); ok {
			w.emit(event.StreamDelayed, delayed)
		}
		w.state.Resolve.Next = w.rules.nextPoll(w.now, w.state.Schedule.DelayAlerted)
	}
}

// resolvedWhileMonitoring takes in an answer in Monitoring Mode: of the periodic
// check, about an outage, or with a renewed manifest (section 7.6, decisions S6
// and S7).
func (w *Watcher) resolvedWhileMonitoring(o Resolution) {
	r := &w.state.Resolve
	r.Next = w.now.Add(liveCheck)
	switch o.State {
	case Live, Offline:
		r.Claim = claim{}
		w.state.Stream = monitor.StreamLive
		w.adoptManifest(o)
		w.alertDueOutage(o.Began)
	default:
		w.claimed(o)
	}
}

// unanswered takes in a question without an answer, and decides when to ask
// again (section 10.2) and whether to ask oEmbed (section 7.4).
func (w *Watcher) unanswered(o Resolution) {
	r := &w.state.Resolve
	r.Failures++
	r.Next = w.now.Add(manifestBackoff.delay(r.Failures))
	urgent := !w.monitoring() || w.inOutage()
	if !urgent && r.Failures > questionRetries {
		r.Next = w.now.Add(liveCheck)
	}
	if !w.monitoring() {
		w.setStatus(monitor.Waiting)
	}
	if w.playlistMoves() {
		w.alertDueOutage(o.Began) // the moving playlist answers instead (S20)
	}
	if o.State == ManifestFound {
		w.adoptManifest(o)
		return
	}
	r.LastError = string(o.State) + ": " + o.Detail
	w.state.Blind.unanswered(w.now, r.LastError)
	w.logWarn("The stream's state could not be learned", map[string]any{
		"state": o.State, "detail": o.Detail, "failures": r.Failures,
	})
	if urgent && (r.ProbedAt.IsZero() || !w.now.Before(r.ProbedAt.Add(probeInterval))) {
		r.Probe = true
	}
}

// probed takes in oEmbed's answer. A video counts as missing when oEmbed says
// so twice and nothing else is learned in between (section 7.4).
func (w *Watcher) probed(o ProbeResult) {
	r := &w.state.Resolve
	r.Probe, r.ProbedAt = false, w.now
	switch {
	case !o.Known:
	case o.Exists:
		r.Missing = 0
	default:
		r.Missing++
		if r.Missing > 1 {
			w.fail(event.ReasonVideoUnavailable, "oEmbed: "+o.Detail)
		}
	}
}
