package watch

import (
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
	Refused      bool      `json:"refused,omitempty"`       // YouTube refused the address that asked last, and nothing was answered since
	Claim        claim     `json:"claim,omitzero"`
	OEmbedDue    bool      `json:"oembed_due,omitempty"` // the next task asks oEmbed (section 7.4)
	OEmbedAt     time.Time `json:"oembed_at,omitzero"`
	MissingCount int       `json:"missing_count,omitempty"` // oEmbed answers in a row that the video does not exist
}

// spendQuota takes a question that began at a time from the stream's quota.
func (r *resolveState) spendQuota(began time.Time) {
	if r.QuotaWholeAt.Before(began) {
		r.QuotaWholeAt = began
	}
	r.QuotaWholeAt = r.QuotaWholeAt.Add(quotaInterval)
}

// quotaAt returns from when on the quota permits a question.
func (r *resolveState) quotaAt() time.Time {
	return r.QuotaWholeAt.Add(-(questionQuota - 1) * quotaInterval)
}

// renew asks for a new URL of a feed, because the server refused it (decision S7). The first refusal
// in a row asks at once, the next ones renewalBackoff after the last question.
func (w *Watcher) renew(f *mediaFeed) {
	if !f.Outage.RenewAt.IsZero() {
		return // no question has been asked since the last refusal
	}
	logged := w.state.Feeds.mostRefusals() >= loggedRefusals
	lived := w.state.Manifest.lived(w.now)
	f.Refusals++
	f.Outage.RenewAt = w.now
	if f.Refusals > 1 {
		f.Outage.RenewAt = instant.Latest(w.now, w.state.Resolve.LastBegan.Add(renewalBackoff.Delay(f.Refusals-1)))
	}
	if lived < shortLife && f.Refusals >= loggedRefusals && !logged {
		w.logWarn("The stream's URLs are refused soon after each renewal; they are renewed at most 60 times an hour: let yt-dlp and the media use one address, or update yt-dlp", map[string]any{
			"lived_sec": lived.Seconds(), "refused": f.Refusals,
		})
	}
}

// handleResolution takes in the result of a question about the stream's state.
func (w *Watcher) handleResolution(o Resolution) {
	r := &w.state.Resolve
	mayBeBack := w.mayBeBack(o)
	for _, f := range w.state.Feeds {
		if f.Outage.alertable(o.Began) && !f.Outage.alertable(r.LastBegan) {
			r.Failures = 0 // the first question about this outage starts the backoff again (S6)
		}
	}
	for _, f := range w.state.Feeds {
		f.Outage.RenewAt = time.Time{}
	}
	r.LastBegan = o.Began
	if !o.State.Known() {
		w.handleNoAnswer(o)
		return
	}
	r.Failures, r.Refused = 0, false
	w.recordObserved()
	if w.state.monitoring() {
		w.handleAnswerWhileMonitoring(o, mayBeBack)
	} else {
		w.handleAnswerWhileWaiting(o)
	}
}

// handleAnswerWhileWaiting takes in an answer in Waiting Mode (sections 7.1, 7.2,
// 7.5).
func (w *Watcher) handleAnswerWhileWaiting(o Resolution) {
	switch o.State {
	case Ended, NotALiveStream, Private, Removed, RegionLocked, AgeRestricted, MembersOnly:
		w.handleClaimWhileWaiting(o)
	case Live:
		w.start(o.ActualStart)
		w.adoptManifest(o)
		w.state.Resolve.NextAt = w.now.Add(liveCheck)
	default: // Upcoming, Offline
		w.state.Resolve.Claim = claim{}
		w.state.Stream = monitor.StreamUpcoming
		w.setStatus(monitor.Waiting)
		w.state.dropMedia()
		if at := w.plan().expiresAt(); !at.IsZero() && !w.now.Before(at) {
			w.expire()
			return
		}
		w.state.Schedule.alertDelay(w.rules, &w.emitter)
		w.state.Resolve.NextAt = w.rules.nextPoll(w.now, w.state.Schedule.DelayAlerted)
	}
}

// handleAnswerWhileMonitoring takes in an answer in Monitoring Mode (section 7.6).
// The question was the regular one, was about an outage (decision S6), or renewed
// the manifest (decision S7). mayBeBack says that media which fail may be back by now.
func (w *Watcher) handleAnswerWhileMonitoring(o Resolution, mayBeBack bool) {
	r := &w.state.Resolve
	r.NextAt = w.now.Add(liveCheck)
	switch o.State {
	case Live, Offline:
		r.Claim = claim{}
		w.state.Stream = monitor.StreamLive
		w.adoptManifest(o)
		if w.state.Feeds.lookFirst(w.now, o.Began, mayBeBack) {
			r.NextAt = w.now.Add(lookAgain)
			return
		}
		w.state.Feeds.alertOutage(&w.emitter, o.Began)
	default:
		w.handleClaim(o)
	}
}

// handleNoAnswer takes in a question without an answer. It decides when to ask
// again (section 10.2) and whether to ask oEmbed (section 7.4).
func (w *Watcher) handleNoAnswer(o Resolution) {
	r := &w.state.Resolve
	for _, f := range w.state.Feeds {
		f.Outage.LookAt = time.Time{} // the failures since then may be this host's, too
	}
	r.Failures++
	r.NextAt = w.now.Add(resolveBackoff.Delay(r.Failures))
	urgent := !w.state.monitoring() || w.state.Feeds.inOutage()
	if !urgent && r.Failures > questionRetries {
		r.NextAt = w.now.Add(liveCheck)
	}
	if !w.state.monitoring() {
		w.setStatus(monitor.Waiting)
	}
	switch {
	case o.State.Refused():
		r.Refused = true
		w.state.noteRefusal()
	case o.State == ManifestFound:
		r.Refused = false
		w.endRefusal()
	}
	w.alertUnanswered()
	if o.State == ManifestFound {
		w.adoptManifest(o)
		return
	}
	w.state.Blind.recordNoAnswer(w.now, o)
	w.logWarn("The stream's state could not be learned; the worker asks again", map[string]any{
		"state": o.State, "detail": o.Detail, "failures": r.Failures,
	})
	if urgent && (r.OEmbedAt.IsZero() || !w.now.Before(r.OEmbedAt.Add(oEmbedInterval))) {
		r.OEmbedDue = true
	}
}

// handleOEmbed takes in oEmbed's answer. A second answer in a row that the video
// does not exist ends the watch (section 7.4). recordObserved breaks the row.
func (w *Watcher) handleOEmbed(o OEmbedResult) {
	r := &w.state.Resolve
	r.OEmbedDue, r.OEmbedAt = false, w.now
	switch {
	case !o.Known:
	case o.Exists:
		r.MissingCount = 0
	default:
		r.MissingCount++
		if r.MissingCount > 1 {
			w.fail(event.ReasonVideoUnavailable, "oEmbed: "+o.Detail)
		}
	}
}
