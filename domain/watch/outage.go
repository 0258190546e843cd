package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// outage is a time in which a feed yields no new media (sections 6.6 and 7.6,
// decision S6). Its cause is a failing playlist, a failing segment or a stalled
// playlist. Times are the clock's. The zero value is no outage.
type outage struct {
	Since     time.Time     `json:"since,omitzero"`
	Unwatched time.Duration `json:"unwatched,omitzero"` // time after Since in which nobody tried
	Cause     string        `json:"cause,omitempty"`    // event.FailedManifest, event.FailedSegment, event.FailedStalled
	LastError string        `json:"last_error,omitempty"`
	Failures  int           `json:"failures,omitempty"` // in a row, of this Cause
	FailedAt  time.Time     `json:"failed_at,omitzero"` // of the latest of them
	RetryAt   time.Time     `json:"retry_at,omitzero"`
	RenewAt   time.Time     `json:"renew_at,omitzero"` // when to ask for another URL, because the server refused this one (decision S7); zero: it did not
	LookAt    time.Time     `json:"look_at,omitzero"`  // the alert needs a failure since then
	DueAt     time.Time     `json:"due_at,omitzero"`   // when the first failure at or after the limit was seen
	Refused   bool          `json:"refused,omitempty"` // the latest failure may be a refusal of whoever asks
	Denial    string        `json:"denial,omitempty"`  // event.FailedDenied or FailedToken, if the latest failure was one; empty: neither
	Alerted   bool          `json:"alerted,omitempty"`
	Avoided   []quality     `json:"avoided,omitempty"` // renditions that failed again after their URLs were renewed
}

func (o *outage) open() bool { return !o.Since.IsZero() }

// limitAt returns when the outage reaches outageLimit. Time in which nobody tried
// does not count.
func (o *outage) limitAt() time.Time { return o.Since.Add(o.Unwatched + outageLimit) }

// reachedLimit reports whether the outage has reached outageLimit. Media before
// and after such an outage are not joined (decision S20).
func (o *outage) reachedLimit(now time.Time) bool { return o.open() && !now.Before(o.limitAt()) }

// fail adds a failure that was seen at now. Its trouble began at since.
func (o *outage) fail(now, since time.Time, cause, lastError string) {
	if !o.open() || since.Before(o.Since) {
		o.Since = since
	}
	if o.Cause != cause {
		o.Failures = 0
	}
	o.Cause, o.LastError, o.FailedAt, o.Refused, o.Denial = cause, lastError, now, false, ""
	o.Failures++
	policy := playlistBackoff
	if cause == event.FailedSegment {
		policy = segmentBackoff
	}
	o.RetryAt = now.Add(policy.Delay(o.Failures))
	switch limit := o.limitAt(); {
	case !limit.After(now):
		if o.DueAt.Before(limit) {
			o.DueAt = now
		}
	case limit.Before(o.RetryAt):
		o.RetryAt = limit // a failure before the limit does not show that the outage lasted until then
	}
}

// alertableSince returns the limit of an outage that waits for its alert; zero:
// none does. An outage waits for its alert once a failure was seen at or after its
// limit. The resolve lane then asks whether the stream is live.
func (o *outage) alertableSince() time.Time {
	limit := o.limitAt()
	if !o.open() || o.Alerted || o.FailedAt.Before(limit) {
		return time.Time{}
	}
	return limit
}

// askAt returns when the resolve lane is to ask about the outage; zero: it does not wait for its alert. That is
// when the failure was seen, not the limit: a question between the two may have been answered before the failure.
func (o *outage) askAt() time.Time {
	if o.alertableSince().IsZero() {
		return time.Time{}
	}
	return o.DueAt
}

// alertable reports whether the outage waited for its alert at a time.
func (o *outage) alertable(at time.Time) bool {
	since := o.alertableSince()
	return !since.IsZero() && !at.Before(since)
}

// alert marks the outage as alerted and returns the alert.
func (o *outage) alert(now time.Time) event.Outage {
	o.Alerted = true
	return event.Outage{
		StartedAt:    o.Since,
		DurationSec:  wholeSeconds(now.Sub(o.Since)),
		ThresholdSec: wholeSeconds(outageLimit),
		Failure:      cmp.Or(o.Denial, o.Cause),
		LastError:    o.LastError,
	}
}

// longestOutage returns the open outage that began first among the feeds that
// match, or nil.
func (all mediaFeeds) longestOutage(match func(*mediaFeed) bool) (longest *outage) {
	for _, f := range all {
		if o := &f.Outage; o.open() && match(f) && (longest == nil || o.Since.Before(longest.Since)) {
			longest = o
		}
	}
	return longest
}

// avoided returns the renditions that the outages of the feeds avoid.
func (all mediaFeeds) avoided() (renditions []quality) {
	for _, f := range all {
		renditions = append(renditions, f.Outage.Avoided...)
	}
	return renditions
}

// inOutage reports whether any feed has an outage.
func (all mediaFeeds) inOutage() bool {
	return slices.ContainsFunc(all, func(f *mediaFeed) bool { return f.Outage.open() })
}

// outageAlerted reports whether any feed has an outage that was alerted.
func (all mediaFeeds) outageAlerted() bool {
	return all.longestOutage(func(f *mediaFeed) bool { return f.Outage.Alerted }) != nil
}

// trackInOutage reports whether a feed of the track has an outage that was alerted
// or waits for its alert.
func (all mediaFeeds) trackInOutage(track detector.Track, now time.Time) bool {
	return slices.ContainsFunc(all, func(f *mediaFeed) bool {
		return f.Tracks.has(track) && (f.Outage.alertable(now) || f.Outage.Alerted)
	})
}

// lookFirst reports whether the media have to be looked at before an outage is alerted, because
// they may be back. at is when the outage was due. The backoff of the media then ends now.
func (all mediaFeeds) lookFirst(now, at time.Time, mayBeBack bool) bool {
	longest := all.longestOutage(func(f *mediaFeed) bool { return f.Outage.alertable(at) })
	switch {
	case longest == nil, longest.LookAt.IsZero() && !mayBeBack:
		return false
	case !longest.LookAt.IsZero() && !longest.FailedAt.Before(longest.LookAt):
		return false
	}
	for _, f := range all {
		if o := &f.Outage; o.open() {
			o.LookAt, o.RetryAt = instant.Earliest(o.LookAt, now), now
		}
	}
	return true
}

// alertOutage alerts the longest outage that waited for its alert at the time at
// (section 6.6, decision S6). The caller knows that the stream was live then.
func (all mediaFeeds) alertOutage(e *emitter, at time.Time) {
	longest := all.longestOutage(func(f *mediaFeed) bool { return f.Outage.alertable(at) })
	if longest == nil {
		return
	}
	e.emit(event.SegmentError, longest.alert(e.now))
	for _, f := range all {
		f.Outage.Alerted = f.Outage.open()
	}
}

// outages handles media that cannot be read, and their return.
type outages struct{ *stream }

// alertUnanswered alerts an outage that waited for its alert when the last question came back
// without an answer, if a playlist has moved since then, and within lookAgain: that proves that
// the stream is live (S20), and that this time is not blind. The new segment of a playlist whose
// own outage it is proves nothing, because it may end the outage.
func (o outages) alertUnanswered() {
	asked := o.state.Resolve.LastBegan
	longest := o.state.Feeds.longestOutage(func(f *mediaFeed) bool { return f.Outage.alertable(asked) })
	if longest == nil || o.state.Resolve.Failures == 0 || o.state.Blind.Refused {
		return
	}
	since := instant.Latest(longest.limitAt(), o.now.Add(-lookAgain))
	for _, f := range o.state.Feeds {
		if (!f.Outage.open() || f.Outage.Cause == event.FailedSegment) && !f.Newest.SeenAt.Before(since) {
			o.state.Feeds.alertOutage(&o.emitter, asked)
			return
		}
	}
}

// endOf ends the outage of a feed because new media were read. An outage that waits for its alert
// is not alerted any more (decision S6).
func (o outages) endOf(f *mediaFeed) {
	if !f.Outage.open() {
		return
	}
	if f.Outage.reachedLimit(o.now) {
		for d := range o.rules.running(f.Tracks) {
			o.state.Conditions.of(d).dropUnalerted()
		}
	}
	o.revise()
	o.logInfo("The stream's media are back", map[string]any{"outage_sec": o.now.Sub(f.Outage.Since).Seconds()})
	f.Outage = outage{}
}

// recordFailure opens or extends the outage of a feed in Monitoring Mode. If the server refused
// the URL, it asks for a new manifest (decision S7).
func (o outages) recordFailure(f *mediaFeed, cause string, failure *Failure, since time.Time) {
	o.state.Blind.LastError = failure.Error()
	if !o.state.monitoring() {
		return
	}
	o.extend(f, since, cause, failure.Error())
	f.Outage.Refused, f.Outage.Denial = failure.Kind.mayRefuseUs(), failure.Kind.denial()
	o.state.noteRefusal()
	if failure.Kind.renewsURL() {
		o.renew(f)
	}
	o.logWarn("The stream's media could not be read", map[string]any{
		"failure": cause, "error": failure.Error(), "failures": f.Outage.Failures,
	})
}

// extend opens or extends the outage of a feed. Outages of two feeds at the same time count as
// one, which is alerted once.
func (o outages) extend(f *mediaFeed, since time.Time, cause, lastError string) {
	o.state.Blind.LastError = lastError
	f.Outage.fail(o.now, since, cause, lastError)
	f.Outage.Alerted = f.Outage.Alerted || !o.state.NoData.AlertedAt.IsZero()
	for _, other := range o.state.Feeds {
		f.Outage.Alerted = f.Outage.Alerted || other.Outage.open() && other.Outage.Alerted
	}
}

// renew asks for a new URL of a feed, because the server refused it (decision S7). The first refusal
// in a row asks at once, the next ones renewalBackoff after the last question.
func (o outages) renew(f *mediaFeed) {
	if !f.Outage.RenewAt.IsZero() {
		return // no question has been asked since the last refusal
	}
	logged := slices.ContainsFunc(o.state.Feeds, func(f *mediaFeed) bool { return f.Refusals >= loggedRefusals })
	lived := o.state.Manifest.lived(o.now)
	f.Refusals++
	f.Outage.RenewAt = o.now
	if f.Refusals > 1 {
		f.Outage.RenewAt = instant.Latest(o.now, o.state.Resolve.LastBegan.Add(renewalBackoff.Delay(f.Refusals-1)))
	}
	if lived < shortLife && f.Refusals >= loggedRefusals && !logged {
		o.logWarn("The stream's URLs are refused soon after each renewal; they are renewed at most 60 times an hour: let yt-dlp and the media use one address, or update yt-dlp", map[string]any{
			"lived_sec": lived.Seconds(), "refused": f.Refusals,
		})
	}
}
