package collector

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// extraSegment is a segment of a better rendition. A nil one is not fetched yet.
type extraSegment struct {
	*track // with one part; nil: there is no better segment
}

// fetchExtra fetches one more segment for a picture: of a better rendition, or else the
// watched one if the track does not have it.
func (s *pictures) fetchExtra(ctx context.Context, j capture.Job, t *track, watched watch.Segment, at time.Time) *extraSegment {
	extra := &extraSegment{}
	if j.Extra.URL != "" {
		extra.track = s.fetchBetter(ctx, j.Extra, watched, at)
	}
	if extra.track == nil {
		if err := t.fetch(ctx, s.media.segments, watched); err != nil {
			s.media.noteSegment(j, watched, err)
		}
	}
	return extra
}

// fetchBetter fetches the segment of another rendition at a time, or returns nil.
func (s *pictures) fetchBetter(ctx context.Context, r watch.Rendition, watched watch.Segment, at time.Time) *track {
	p := s.playlists.ReadPlaylist(request.OfSegment(ctx, watched), r.URL)
	if p.Failure != nil {
		s.defects.note("another rendition: %v", p.Failure)
		return nil
	}
	better, _, ok := capture.Counterpart(p, watched, at)
	if !ok {
		return nil
	}
	better.Egress, better.Header = watched.Egress, watched.Header
	return s.fetchOther(ctx, better, r.Height)
}

// fetchOther fetches a segment of another rendition, or returns nil.
func (s *pictures) fetchOther(ctx context.Context, other watch.Segment, height int) *track {
	t, err := s.media.fetchAlone(ctx, other)
	if err != nil {
		s.defects.note("another rendition: %v", err)
		return nil
	}
	t.height = height
	return t
}

func (e *extraSegment) close() {
	if e.track != nil {
		e.track.close()
	}
}

// picture returns the better segment if it has the picture of that time.
func (e *extraSegment) picture(at time.Time) (m Media, offset time.Duration, ok bool) {
	if e == nil || e.track == nil {
		return Media{}, 0, false
	}
	s := e.parts[0].segment
	offset = at.Sub(s.ProgramTime)
	return e.media(e.parts), offset, offset >= 0 && offset < s.Duration
}
