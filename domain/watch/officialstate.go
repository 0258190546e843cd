package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// official is the newest OfficialState. It decides only when the resolve lane asks. Each event, each
// manifest and each end of a trouble needs an answer of that lane, or media (decision S23).
type official struct {
	OfficialState
	ChangedAt time.Time `json:"changed_at,omitzero"` // when the watcher learned this status
}

// says reports whether the API says at a time that the stream has this status.
func (o official) says(status monitor.StreamStatus, at time.Time) bool {
	return o.Status == status && at.Before(o.AskedAt.Add(monitor.OfficialStateLife))
}

// handleOfficialState takes in what the official API says. While it answers the regular question of a stream that
// waits, the watcher is not blind. It ends no blindness that was alerted.
func (w *Watcher) handleOfficialState(o OfficialState) {
	known := &w.state.Official
	if !o.AskedAt.After(known.AskedAt) {
		return
	}
	if o.Status != known.Status {
		known.ChangedAt = w.now
		w.revise()
	}
	known.OfficialState = o
	if !w.state.monitoring() && !w.state.Blind.Alerted && w.now.Before(w.plan().officialUntil()) {
		w.state.Blind.end(&w.emitter)
	}
}

// officialUntil returns until when the official API answers the regular question; zero: it does not. It does so
// while it agrees with the last question that was answered. If it learns of starts late, it does so only until OfficialCheck after that.
func (p planner) officialUntil() time.Time {
	o, r := p.state.Official, p.state.Resolve
	if o.Status != p.state.Stream || o.Status == monitor.StreamUnknown || r.Failures > 0 {
		return time.Time{}
	}
	until := o.AskedAt.Add(monitor.OfficialStateLife)
	if check := p.rules.OfficialCheck; check > 0 {
		return instant.Earliest(until, r.LastBegan.Add(check))
	}
	return until
}

// officialMoments returns from when on a question is due because of the official API. One is due when it says
// something else than the last question has found. While it answers the regular question of a stream that waits,
// one is due at the scheduled start, and one when the start counts as late: the alert needs an answer (S13).
func (p planner) officialMoments() (moments []time.Time) {
	if o := p.state.Official; o.Status != p.state.Stream {
		moments = append(moments, o.ChangedAt)
	}
	if start := p.rules.ScheduledStart; !p.state.monitoring() && !start.IsZero() && !p.officialUntil().IsZero() {
		moments = append(moments, start, start.Add(p.rules.StartTolerance))
	}
	return moments
}
