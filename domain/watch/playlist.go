package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// playlists handles what the media lane reads: master and media playlists.
type playlists struct{ *stream }

// handle takes in the reading of a playlist (sections 6.1, 7.6).
func (p playlists) handle(o Playlist) {
	if o.URL == "" {
		return
	}
	p.logDefect(o.Defect)
	if o.URL == p.state.Manifest.PendingURL && !manifests(p).takeRenewed(o) {
		return
	}
	for _, f := range slices.Clone(p.state.Feeds) {
		if f.URL == o.URL && !p.state.Over {
			p.handleFeed(f, o)
		}
	}
}

// handleFeed takes in the reading of a feed's playlist.
func (p playlists) handleFeed(f *mediaFeed, o Playlist) {
	switch {
	case o.Failure != nil && p.state.Manifest.Seeking:
		p.end(event.EndedByEndlist)
	case o.Failure != nil:
		p.handleFailure(f, o.Began, o.Failure)
	case o.Ended && !f.isOlder(o):
		p.handleEnd(f, o)
	case len(o.Renditions) > 0:
		if failure := manifests(p).expand(f, o.Renditions); failure != nil {
			p.handleFailure(f, o.Began, failure)
		}
	case len(o.Segments) == 0:
		p.handleFailure(f, o.Began, NewFailure(FailureMalformed, "the playlist lists no segment"))
	default:
		if f.Ended {
			p.revise()
		}
		f.Ended, f.failingSince = false, time.Time{}
		if p.state.Manifest.Seeking {
			p.state.Manifest.Seeking = false
			p.revise()
			p.logWarn("The watched rendition has ended alone; another one that goes on is watched", map[string]any{"height": f.Quality.Height, "bandwidth": f.Quality.Bandwidth})
		}
		if !p.state.monitoring() { // segments prove that the stream is live, which streamlink cannot say (section 5.2)
			p.start(time.Time{})
		}
		p.handleSegments(f, o, placeSegments(o.plausibleSegments(), o.Began))
	}
}

// handleFailure takes in a playlist that could not be read. Before Monitoring Mode it drops all
// media, because the stream may not have started.
func (p playlists) handleFailure(f *mediaFeed, began time.Time, failure *Failure) {
	f.LastReadAt = began
	f.failReading(began)
	outages(p).recordFailure(f, event.FailedManifest, failure, began)
	if !p.state.monitoring() {
		p.state.Feeds, p.state.Manifest = nil, manifest{}
	}
}

// isOlder reports whether a playlist comes from an older copy.
func (f *mediaFeed) isOlder(o Playlist) bool {
	placed := placeSegments(o.Segments, o.Began)
	return len(placed) > 0 && f.compare(placed[len(placed)-1]) == older
}

// handleEnd takes in EXT-X-ENDLIST (section 7.6). The stream has ended once
// all its playlists have ended, so the others are read at once, and then one of
// another quality. A playlist that has ended alone counts as stalled.
func (p playlists) handleEnd(f *mediaFeed, o Playlist) {
	if len(o.Segments) > 0 {
		placed := placeSegments(o.Segments, o.Began)
		last := placed[len(placed)-1]
		f.Clock.update(last, o.Began, last.sameLine(f.Newest.identity), &p.emitter)
	}
	f.Ended, f.LastReadAt, f.LastCheckedAt, f.failingSince = true, o.Began, o.Began, time.Time{}
	p.revise()
	for _, other := range p.state.Feeds {
		if !other.Ended {
			other.readAtOnce()
		}
	}
	if p.state.Feeds.ended() && !p.mayReturn() {
		if manifests(p).seekOther() {
			return
		}
		p.end(event.EndedByEndlist)
		return
	}
	outages(p).extend(f, f.Newest.unchangedSince(), event.FailedStalled, "the playlist has ended, the stream has not")
}

// mayReturn reports whether a broadcast whose playlists have all ended may still go on, as an encoder that connects
// again lets it. That is a claim which the media make.
func (p playlists) mayReturn() bool {
	r, b := &p.state.Resolve, p.state.Broadcast
	if b.Returns > 0 && r.Claim.State != Ended {
		r.Claim, r.NextAt = claim{State: Ended, At: p.now}, p.now.Add(endConfirm)
	}
	return b.Returns > 0 && p.now.Before(r.Claim.At.Add(b.Returns))
}

// handleSegments takes in the segments of a live playlist. It decides whether the
// playlist has moved and whether to analyse its newest segment now.
func (p playlists) handleSegments(f *mediaFeed, o Playlist, segments []Segment) {
	segments = p.limitAds(f, segments)
	last := segments[len(segments)-1]
	checkDue := !o.Began.Before(p.plan().nextCheckAt(f))
	result := f.compare(last)
	isNew := result == newer || result == again
	if isNew && (!p.state.Blind.Refused || f.Outage.Cause != event.FailedSegment || !f.Outage.Refused) { // else only a name was seen
		p.recordObserved()
	}
	before, lastReadAt := f.Newest, f.LastReadAt
	f.Newest = before.after(result, last, p.now, f.publishedSince(o, last))
	f.listing, f.LastReadAt = f.listing.after(result, segments), o.Began
	if result != newer {
		p.handleNoNewSegment(f)
	}
	if isNew {
		outages(p).alertUnanswered()
		p.followProgramTime(f, o, last, last.sameLine(before.identity))
		p.countOddSegment(last, o.Segments[len(o.Segments)-1].Duration, o.TargetDuration)
	}
	if checkDue {
		f.recordCheck(o.Began, p.rules.Phase)
	}
	if next, ok := p.toAnalyse(f); ok && f.analysisDue(o.Began, checkDue) {
		f.pending, f.look, f.bisection, f.changed = &next, p.plan().look(f, next), bisection{}, false
	}
	if last.Ad && result != older {
		f.Outage.passAd(p.now, lastReadAt)
		if f.pending == nil {
			analyses(p).apply(f)
		}
	}
}

// recordCheck records a check that began at a time. Phase brings the one after the first forward.
func (f *mediaFeed) recordCheck(began time.Time, phase time.Duration) {
	if f.LastCheckedAt.IsZero() {
		began = began.Add(-phase)
	}
	f.LastCheckedAt = began
}

// analysisDue reports whether the newest segment is analysed after a reading that began at a time. In
// an outage a segment that was not tried is analysed at once, because it may end the outage. A
// segment that failed waits for its backoff.
func (f *mediaFeed) analysisDue(began time.Time, checkDue bool) bool {
	due := checkDue || f.Outage.open()
	if f.Newest.Failed {
		due = !began.Before(f.Outage.RetryAt)
	}
	last, ok := f.listing.last()
	return ok && due && !f.listing.ofFormerURL && !f.Newest.Analysed && last.ID() == f.Newest.ID
}

// followProgramTime takes a new segment into the media timeline.
func (p playlists) followProgramTime(f *mediaFeed, o Playlist, last Segment, sameLine bool) {
	if shift := f.Clock.update(last, o.Began, sameLine, &p.emitter); shift != 0 {
		p.state.Conditions.shift(f.Tracks, shift)
		f.changed, f.Screened = true, nil
		p.logWarn("The stream's program time was reset", map[string]any{"shift_sec": shift.Seconds()})
	}
}

// countOddSegment counts and logs a segment whose length is far from the target duration.
func (p playlists) countOddSegment(s Segment, duration, targetDuration time.Duration) {
	length, target := duration.Seconds(), targetDuration.Seconds()
	if s.Ad || target <= 0 || length >= minSegmentRatio*target && length <= maxSegmentRatio*target {
		return
	}
	p.state.OddSegments++
	p.logWarn("A segment has a strange length", map[string]any{
		"segment_sequence": s.Sequence, "duration_sec": length, "target_duration_sec": target, "count": p.state.OddSegments,
	})
}

// publishedSince returns when a new segment may have been published, at the earliest. That
// is after the last reading, and about as long after its predecessor as it ends later. So
// few readings in a row are enough to know when segments appear.
func (f *mediaFeed) publishedSince(o Playlist, last Segment) time.Time {
	since := f.LastReadAt
	if f.listing.olderReadings > 0 {
		since = f.Newest.Since // an older copy does not show what was published by then
	}
	if !f.listing.ofFormerURL && f.Clock.Started && !f.Newest.Since.IsZero() {
		expected := f.Newest.Since.Add(last.End().Sub(f.Clock.End) - publicationSlack)
		if expected.After(since) && expected.Before(o.Began) {
			since = expected
		}
	}
	return since
}

// nextSegmentAt returns when to look for the next segment so that it is read within
// minReadInterval of its publication.
func (f *mediaFeed) nextSegmentAt() time.Time {
	at := f.LastReadAt
	if last, ok := f.listing.last(); ok {
		at = instant.Latest(at, f.Newest.Since.Add(last.Duration))
	}
	return at.Add(minReadInterval)
}

// handleNoNewSegment takes in a playlist without a new segment (decisions S5, S6).
func (p playlists) handleNoNewSegment(f *mediaFeed) {
	since := f.Newest.unchangedSince()
	switch {
	case p.now.Sub(since) < stallLimit && f.listing.endsWithAd():
	case p.now.Sub(since) >= stallLimit, f.Outage.Cause == event.FailedStalled:
		outages(p).extend(f, since, event.FailedStalled, "the playlist has not moved")
	case f.Newest.Analysed:
		outages(p).endOf(f)
	}
}

// logDefect logs what was odd about an entry of a playlist, once for each kind of defect.
func (p playlists) logDefect(defect string) {
	if defect == "" || len(p.state.Defects) == maxDefects || slices.Contains(p.state.Defects, defect) {
		return
	}
	p.state.Defects = append(p.state.Defects, defect)
	p.revise()
	p.logWarn("An entry of the stream's manifest is odd; it is left out or repaired, and the rest is used", map[string]any{"defect": defect})
}
