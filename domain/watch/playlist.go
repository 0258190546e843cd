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
	if f.failingSince.IsZero() {
		f.failingSince = o.Began
	}
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
		f.Clock.update(last, o.Began, last.sameLine(f.Newest.identity))
	}
	f.Ended, f.LastReadAt, f.LastCheckedAt, f.failingSince = true, o.Began, o.Began, time.Time{}
	over := true
	for _, other := range w.state.Feeds {
		if !other.Ended {
			over = false
			other.LastReadAt = time.Time{}
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
	lastRead := f.LastReadAt
	f.LastReadAt, f.changed = o.Began, f.changed || f.urlChanged
	result := f.compare(last)
	switch result {
	case newer:
		w.handleNewSegment(f, o, last, lastRead)
	case unknown: // it may be new or old, so the time until now does not count for a stall
		f.Newest.Unwatched = w.now.Sub(f.Newest.SeenAt)
		f.Newest.identity = last.identity()
		w.handleNoNewSegment(f)
	case same:
		f.Newest.ID = last.ID() // the same segment may have another URI
		w.handleNoNewSegment(f)
	case older:
		f.olderReadings++
		w.handleNoNewSegment(f)
	}
	if result != older {
		f.olderReadings, f.urlChanged, f.window = 0, false, segments
	}
	if checkDue {
		isFirst := f.LastCheckedAt.IsZero()
		if f.LastCheckedAt = o.Began; isFirst {
			f.LastCheckedAt = o.Began.Add(-w.rules.Phase)
		}
	}
	// In an outage a segment that was not tried is analysed at once, because it
	// may end the outage. A segment that failed waits for its backoff.
	analyse := checkDue || f.Outage.open()
	if f.Newest.Failed {
		analyse = !o.Began.Before(f.Outage.RetryAt)
	}
	if n := len(f.window); n > 0 && analyse && !f.urlChanged && !f.Newest.Analysed && f.window[n-1].ID() == f.Newest.ID {
		f.pending, f.look, f.bisection = &f.window[n-1], w.plan().chooseLook(f), bisection{}
		f.changed = false
	}
}

// handleNewSegment takes in a new segment. The playlist was last read at lastRead.
func (w *Watcher) handleNewSegment(f *mediaFeed, o Playlist, last Segment, lastRead time.Time) {
	if !w.state.Blind.Refused || f.Outage.Cause != event.FailedSegment || !f.Outage.Refused { // else only a name was seen
		w.recordObserved()
	}
	sameLine, before := last.sameLine(f.Newest.identity), f.Newest
	f.Newest = newest{identity: last.identity(), Peak: last.identity(), SeenAt: w.now, Since: f.publishedSince(o, last, lastRead)}
	if before.seenBefore(last) {
		f.Newest.Peak, f.Newest.SeenAt, f.Newest.Unwatched = before.Peak, before.SeenAt, before.Unwatched
		w.handleNoNewSegment(f)
	}
	w.alertUnanswered()
	f.Clock.ByFetch = last.TimeEstimated
	if shift := f.Clock.update(last, o.Began, sameLine); shift != 0 {
		w.state.Conditions.shift(f.Tracks, shift)
		f.changed, f.Screened = true, nil
		w.logWarn("The stream's program time was reset", map[string]any{"shift_sec": shift.Seconds()})
	}
	target, length := o.TargetDuration.Seconds(), o.Segments[len(o.Segments)-1].Duration.Seconds()
	if target > 0 && (length < minSegmentRatio*target || length > maxSegmentRatio*target) {
		w.state.OddSegments++
		w.logWarn("A segment has a strange length", map[string]any{
			"segment_sequence": last.Sequence, "duration_sec": length, "target_duration_sec": target, "count": w.state.OddSegments,
		})
	}
}

// publishedSince returns when a new segment may have been published, at the earliest. That
// is after the last reading, and about as long after its predecessor as it ends later. So
// few readings in a row are enough to know when segments appear.
func (f *mediaFeed) publishedSince(o Playlist, last Segment, lastRead time.Time) time.Time {
	since := lastRead
	if f.olderReadings > 0 {
		since = f.Newest.Since // an older copy does not show what was published by then
	}
	if !f.urlChanged && f.Clock.Started && !f.Newest.Since.IsZero() {
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
	if n := len(f.window); n > 0 {
		if next := f.Newest.Since.Add(f.window[n-1].Duration); next.After(at) {
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
