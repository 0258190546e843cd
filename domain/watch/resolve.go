package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// resolveState is the state of the resolve lane: its next questions and the
// results of the last ones. Times are the clock's.
type resolveState struct {
	NextAt        time.Time `json:"next_at"`                  // when the next regular question is due
	LastBegan     time.Time `json:"last_began,omitzero"`      // when the last question with an answer was asked
	RenewAt       time.Time `json:"renew_at,omitzero"`        // when to renew a manifest whose URL has expired (decision S7); zero: none has
	LastRenewalAt time.Time `json:"last_renewal_at,omitzero"` // when the last such renewal began
	ShortLives    int       `json:"short_lives,omitempty"`    // URLs in a row that were refused within shortLife
	QuotaWholeAt  time.Time `json:"quota_whole_at,omitzero"`  // when the whole questionQuota is there again (S7)
	Failures      int       `json:"failures,omitempty"`       // questions in a row without an answer
	Refused       bool      `json:"refused,omitempty"`        // YouTube refused the address that asked last, and nothing was answered since
	Claim         claim     `json:"claim,omitzero"`
	OEmbedDue     bool      `json:"oembed_due,omitempty"` // the next task asks oEmbed (section 7.4)
	OEmbedAt      time.Time `json:"oembed_at,omitzero"`
	MissingCount  int       `json:"missing_count,omitempty"` // oEmbed answers in a row that the video does not exist
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

// renew asks for a new manifest, because the server refused a feed's URL (decision S7). A
// good segment never shortens the pause after the last renewal: URLs that live for seconds
// would be renewed as often. Only a renewed playlist that never worked is renewed sooner, so
// that another rendition is tried in time.
func (w *Watcher) renew(f *mediaFeed, cause string) {
	r := &w.state.Resolve
	pause := renewPause
	if cause == event.FailedManifest && !f.Served {
		pause = playlistRenewPause
	}
	if r.RenewAt.IsZero() {
		w.noteLife(w.now.Sub(w.state.Manifest.AdoptedAt))
	}
	at := r.LastRenewalAt.Add(pause)
	if at.Before(w.now) {
		at = w.now
	}
	r.RenewAt = earliest(r.RenewAt, at)
}

// noteLife counts the URLs in a row that were refused soon, also those that never worked, and names the pattern
// in the log once.
func (w *Watcher) noteLife(lived time.Duration) {
	r := &w.state.Resolve
	if lived >= shortLife {
		r.ShortLives = 0
		return
	}
	if r.ShortLives++; r.ShortLives == maxShortLives {
		w.logWarn("The stream's URLs are refused soon after each renewal; they are renewed once a minute at most: let yt-dlp and the media use one address, or update yt-dlp", map[string]any{
			"lived_sec": lived.Seconds(), "refused": r.ShortLives,
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
	if !r.RenewAt.IsZero() {
		r.RenewAt, r.LastRenewalAt = time.Time{}, o.Began
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
