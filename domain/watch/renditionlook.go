package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// handle takes in a look at another rendition, or a reading of their list.
func (o otherRenditionLooks) handle(l RenditionLook) {
	others, interval, picture := &o.state.Others, o.rules.renditionInterval(), o.state.Feeds.picture()
	if interval == 0 || picture == nil {
		return
	}
	if l.Playlist.URL == others.ListURL {
		others.ReadAt = l.Playlist.Began
		if l.Playlist.Failure == nil {
			o.list(l.Playlist.Renditions, l.Playlist.Began)
		}
		if l.Playlist.Failure == nil && len(l.Playlist.Renditions) == 0 { // it is a media playlist: the only one
			others.ListURL = ""
		}
		return
	}
	at := slices.IndexFunc(others.All, func(r *otherRendition) bool { return r.URL == l.Playlist.URL })
	if at < 0 {
		return
	}
	r := others.All[at]
	if !r.soon(o.now) {
		others.TurnAt = l.Playlist.Began.Add(interval)
	}
	r.LookedAt = l.Playlist.Began
	r.found, r.foundAt = r.find(l, picture.Clock), o.now
}

// find returns what a look has found. A refusal by the server, and a failure of this host's tools, say nothing
// about the rendition. Nor does a segment that cannot be decoded, if none ever could: its codec may be unknown here.
func (r *otherRendition) find(l RenditionLook, watched mediaTime) detector.RenditionState {
	failure := l.Playlist.Failure
	r.decoded, r.shows = nil, 0
	if failure == nil && len(l.Playlist.Segments) > 0 {
		if r.noteMovement(l.Playlist, watched); r.Stands {
			return detector.RenditionStalled
		}
		if l.Playlist.Segments[len(l.Playlist.Segments)-1].Ad {
			return detector.RenditionUnknown
		}
	}
	switch a := l.Analysis; {
	case failure != nil:
	case a == nil || len(l.Playlist.Segments) == 0:
		failure = NewFailure(FailureMalformed, "the playlist lists no segment")
	case a.Failure != nil:
		failure = a.Failure
	case !a.Video.Decoded():
		failure = NewFailure(FailureUndecodable, "no picture could be decoded")
	default:
		r.decoded = &l.Playlist.Segments[len(l.Playlist.Segments)-1]
		if black := a.Intervals[detector.Blackout]; len(black) > 0 {
			r.shows = black[0].From
			return detector.RenditionBlack
		}
		return detector.RenditionOK
	}
	switch failure.Kind {
	case FailureRefused, FailureRateLimited, FailureTool, FailureTooLarge:
		return detector.RenditionUnknown
	case FailureUndecodable:
		if !r.Readable {
			return detector.RenditionUnknown
		}
	}
	return detector.RenditionFailed
}

// noteMovement compares the playlist with that of the look before, and sets Stands. A playlist stands still if its
// newest segment has been the same for stallLimit. So does one that has fallen behind the watched rendition by more.
func (r *otherRendition) noteMovement(p Playlist, watched mediaTime) {
	last, lag := p.Segments[len(p.Segments)-1], time.Duration(0)
	if !last.ProgramTime.IsZero() && !watched.ByFetch {
		lag = watched.End.Sub(last.End())
	}
	byTime, byNumber := last.byTime(r.Newest), last.byNumber(r.Newest)
	moved := byTime == ahead || byNumber == ahead || byTime == unstated && byNumber == unstated && last.ID() != r.Newest.ID
	switch {
	case r.MovedAt.IsZero():
		r.Stands = false
	case moved:
		r.Stands = lag-r.Lag > stallLimit
	default:
		r.Stands = r.Stands || p.Began.Sub(r.MovedAt) >= stallLimit
	}
	r.Stands = r.Stands || p.Ended
	if moved || r.MovedAt.IsZero() {
		r.MovedAt = p.Began
	}
	r.Lag, r.Newest = lag, last.identity()
	if r.Newest.Number > 0 || !r.Newest.ProgramTime.IsZero() {
		r.Newest.ID = "" // a signed URL that decides nothing
	}
}

// judge applies the looks that wait for a new sample of the watched picture, and returns all renditions. The playlist
// of that sample was read after the look, which shows that the network of this host worked. While the watched picture
// is black, a look that found a rendition bad says nothing.
func (o otherRenditionLooks) judge(f *mediaFeed) (all []detector.Rendition) {
	n := len(f.bisection.samples)
	if n == 0 || !f.Tracks.Video {
		return nil
	}
	if watched := &o.state.Others.Watched; o.rules.renditionInterval() > 0 && !slices.Contains(*watched, f.Quality) {
		*watched = append((*watched)[max(0, len(*watched)-1):], f.Quality)
		o.revise()
	}
	c := o.state.Conditions[detector.Blackout]
	black := c != nil && c.Open || slices.ContainsFunc(f.bisection.samples, func(s sample) bool { return len(s.badPeriods(detector.Blackout)) > 0 })
	for _, r := range o.state.Others.All {
		if r.found != "" && !f.LastReadAt.Before(r.foundAt) {
			if black && r.found.Bad() {
				r.found = detector.RenditionUnknown
			}
			r.record(r.found, &o.emitter)
		}
		all = append(all, detector.Rendition{
			Height: r.Height, Bandwidth: r.Bandwidth, State: r.State, Looks: r.Looks,
			Since: f.bisection.samples[n-1].To.Add(r.Since.Sub(o.now)),
		})
	}
	return all
}
