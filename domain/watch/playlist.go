package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// handlePlaylist takes in the reading of a playlist (sections 6.1, 7.6).
func (w *Watcher) handlePlaylist(o Playlist) {
	if o.URL == "" {
		return
	}
	w.logDefect(o.Defect)
	if o.URL == w.state.Manifest.PendingURL {
		w.handleRenewedManifest(o)
		return
	}
	for _, f := range slices.Clone(w.state.Feeds) {
		if f.URL == o.URL && !w.state.Over {
			w.handleFeedPlaylist(f, o)
		}
	}
}

// handleFeedPlaylist takes in the reading of a feed's playlist.
func (w *Watcher) handleFeedPlaylist(f *mediaFeed, o Playlist) {
	switch {
	case o.Failure != nil:
		w.handlePlaylistFailure(f, o)
	case o.Ended && !f.isOlder(o):
		w.handlePlaylistEnd(f, o)
	case len(o.Renditions) > 0:
		w.replaceByRenditions(f, o)
	case len(o.Segments) == 0:
		o.Failure = NewFailure(FailureMalformed, "the playlist lists no segment")
		w.handlePlaylistFailure(f, o)
	default:
		if f.Ended {
			w.revise()
		}
		f.Ended, f.failingSince = false, time.Time{}
		if !w.state.monitoring() { // segments prove that the stream is live, which streamlink cannot say (section 5.2)
			w.start(time.Time{})
		}
		w.handleSegments(f, o, placeSegments(o.plausibleSegments(), o.Began))
	}
}

// handlePlaylistFailure takes in a playlist that could not be read. Before
// Monitoring Mode it drops all media, because the stream may not have started.
func (w *Watcher) handlePlaylistFailure(f *mediaFeed, o Playlist) {
	f.LastReadAt = o.Began
	f.failReading(o.Began)
	w.handleMediaFailure(f, event.FailedManifest, o.Failure, o.Began)
	if !w.state.monitoring() {
		w.state.dropMedia()
	}
}

// isOlder reports whether a playlist comes from an older copy.
func (f *mediaFeed) isOlder(o Playlist) bool {
	placed := placeSegments(o.Segments, o.Began)
	return len(placed) > 0 && f.compare(placed[len(placed)-1]) == older
}

// handlePlaylistEnd takes in EXT-X-ENDLIST (section 7.6). The stream has ended once
// all its playlists have ended, so the others are read at once. A playlist that
// has ended alone counts as stalled.
func (w *Watcher) handlePlaylistEnd(f *mediaFeed, o Playlist) {
	if len(o.Segments) > 0 {
		placed := placeSegments(o.Segments, o.Began)
		last := placed[len(placed)-1]
		f.Clock.update(last, o.Began, last.sameLine(f.Newest.identity), &w.emitter)
	}
	f.Ended, f.LastReadAt, f.LastCheckedAt, f.failingSince = true, o.Began, o.Began, time.Time{}
	w.revise()
	over := true
	for _, other := range w.state.Feeds {
		if !other.Ended {
			over = false
			other.readAtOnce()
		}
	}
	if over {
		w.end(event.EndedByEndlist)
		return
	}
	w.extendOutage(f, f.Newest.unchangedSince(), event.FailedStalled, "the playlist has ended, the stream has not")
}

// handleSegments takes in the segments of a live playlist. It decides whether the
// playlist has moved and whether to analyse its newest segment now.
func (w *Watcher) handleSegments(f *mediaFeed, o Playlist, segments []Segment) {
	last := segments[len(segments)-1]
	checkDue := !o.Began.Before(w.plan().nextCheckAt(f))
	result := f.compare(last)
	isNew := result == newer || result == again
	if isNew && (!w.state.Blind.Refused || f.Outage.Cause != event.FailedSegment || !f.Outage.Refused) { // else only a name was seen
		w.recordObserved()
	}
	before := f.Newest
	f.Newest = before.after(result, last, w.now, f.publishedSince(o, last))
	f.listing, f.LastReadAt = f.listing.after(result, segments), o.Began
	if result != newer {
		w.handleNoNewSegment(f)
	}
	if isNew {
		w.alertUnanswered()
		w.followProgramTime(f, o, last, last.sameLine(before.identity))
		w.countOddSegment(last.Sequence, o.Segments[len(o.Segments)-1].Duration, o.TargetDuration)
	}
	if checkDue {
		f.recordCheck(o.Began, w.rules.Phase)
	}
	if f.analyses(o.Began, checkDue) {
		next, _ := f.listing.last()
		f.pending, f.calm, f.bisection, f.changed = &next, w.plan().calm(f, next), bisection{}, false
	}
}

// recordCheck records a check that began at a time. Phase brings the one after the first forward.
func (f *mediaFeed) recordCheck(began time.Time, phase time.Duration) {
	if f.LastCheckedAt.IsZero() {
		began = began.Add(-phase)
	}
	f.LastCheckedAt = began
}

// analyses reports whether the newest segment is analysed after a reading that began at a time. In
// an outage a segment that was not tried is analysed at once, because it may end the outage. A
// segment that failed waits for its backoff.
func (f *mediaFeed) analyses(began time.Time, checkDue bool) bool {
	due := checkDue || f.Outage.open()
	if f.Newest.Failed {
		due = !began.Before(f.Outage.RetryAt)
	}
	last, ok := f.listing.last()
	return ok && due && !f.listing.ofFormerURL && !f.Newest.Analysed && last.ID() == f.Newest.ID
}

// followProgramTime takes a new segment into the media timeline.
func (w *Watcher) followProgramTime(f *mediaFeed, o Playlist, last Segment, sameLine bool) {
	if shift := f.Clock.update(last, o.Began, sameLine, &w.emitter); shift != 0 {
		w.state.Conditions.shift(f.Tracks, shift)
		f.changed, f.Screened = true, nil
		w.logWarn("The stream's program time was reset", map[string]any{"shift_sec": shift.Seconds()})
	}
}

// countOddSegment counts and logs a segment whose length is far from the target duration.
func (w *Watcher) countOddSegment(sequence uint64, duration, targetDuration time.Duration) {
	length, target := duration.Seconds(), targetDuration.Seconds()
	if target <= 0 || length >= minSegmentRatio*target && length <= maxSegmentRatio*target {
		return
	}
	w.state.OddSegments++
	w.logWarn("A segment has a strange length", map[string]any{
		"segment_sequence": sequence, "duration_sec": length, "target_duration_sec": target, "count": w.state.OddSegments,
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
		expected := f.Newest.Since.Add(last.end().Sub(f.Clock.End) - publicationSlack)
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
		if next := f.Newest.Since.Add(last.Duration); next.After(at) {
			at = next
		}
	}
	return at.Add(minReadInterval)
}

// handleNoNewSegment takes in a playlist without a new segment (decisions S5, S6).
func (w *Watcher) handleNoNewSegment(f *mediaFeed) {
	since := f.Newest.unchangedSince()
	switch {
	case w.now.Sub(since) >= stallLimit, f.Outage.Cause == event.FailedStalled:
		w.extendOutage(f, since, event.FailedStalled, "the playlist has not moved")
	case f.Newest.Analysed:
		w.state.Feeds.endOutage(f, w.state.Conditions, &w.emitter)
	}
}
