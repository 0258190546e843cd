package livestream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// ErrNotFound reports a rendition that does not exist, or a segment that is not available
// yet or any more. Segments remain available for twice the window.
var ErrNotFound = errors.New("livestream: not found")

// Stream is a live stream. It has no goroutine, needs no Close, and is safe for
// concurrent use. Its instants are wall times, which are also program times.
type Stream struct {
	library  *Library
	config   Config
	timeline timeline
}

// Start begins a stream. It first encodes the renditions that the library does not
// have yet: half a second for the default ones, once per machine.
func (l *Library) Start(ctx context.Context, c Config) (*Stream, error) {
	if err := c.applyDefaults(); err != nil {
		return nil, err
	}
	s := &Stream{library: l, config: c}
	for _, cue := range c.Script {
		if err := cue.valid(); err != nil {
			return nil, err
		}
		s.timeline.add(s.align(cue))
	}
	if err := l.prepare(ctx, c.Renditions, c.Segment); err != nil {
		return nil, err
	}
	return s, nil
}

// Began returns the instant of the first frame.
func (s *Stream) Began() time.Time { return s.config.Start }

// SegmentDuration returns the duration of each segment.
func (s *Stream) SegmentDuration() time.Duration { return s.config.Segment }

// Renditions lists the qualities, as configured.
func (s *Stream) Renditions() []Rendition { return slices.Clone(s.config.Renditions) }

// Black makes the picture black, or brings it back, and returns the instant of
// the first frame that shows it.
func (s *Stream) Black(on bool) time.Time { return s.toggle(on, Black, Picture) }

// Silence takes the sound away, or brings it back, and returns the instant.
func (s *Stream) Silence(on bool) time.Time { return s.toggle(on, Silence, Sound) }

// Quiet makes the sound 20 dB lower, or as loud as before, and returns the instant.
func (s *Stream) Quiet(on bool) time.Time { return s.toggle(on, Quiet, Loud) }

// Freeze stops the playlists, or lets them jump to the live edge, and returns
// the instant.
func (s *Stream) Freeze(on bool) time.Time { return s.toggle(on, Freeze, Thaw) }

// Discontinuity starts a new timeline of timestamps with the next segment and
// returns the instant at which that begins.
func (s *Stream) Discontinuity() time.Time { return s.Do(Cue{Do: Discontinuity}) }

// End ends the stream with EXT-X-ENDLIST and returns the end of its last
// segment. The unfinished segment is lost.
func (s *Stream) End() time.Time { return s.finish(End) }

// Stop ends the stream without EXT-X-ENDLIST and returns the end of its last
// segment.
func (s *Stream) Stop() time.Time { return s.finish(Stop) }

// Fail answers part with f from now on.
func (s *Stream) Fail(part Part, f httpfault.Fault) { s.Do(Cue{Do: Fail, Part: part, Fault: f}) }

// Heal ends the failure of a part.
func (s *Stream) Heal(part Part) { s.Do(Cue{Do: Heal, Part: part}) }

// Do adds a cue, at c.At or now, whichever is later, and returns the instant
// at which it takes effect. Published media never change. It panics on an
// invalid cue.
func (s *Stream) Do(c Cue) time.Time {
	if err := c.valid(); err != nil {
		panic(err)
	}
	c.At = max(c.At, s.offset())
	c = s.align(c)
	s.timeline.add(c)
	return s.config.Start.Add(c.At)
}

func (s *Stream) toggle(on bool, start, stop Action) time.Time {
	if on {
		return s.Do(Cue{Do: start})
	}
	return s.Do(Cue{Do: stop})
}

func (s *Stream) finish(a Action) time.Time {
	s.Do(Cue{Do: a})
	return s.config.Start.Add(time.Duration(s.published(s.offset())) * s.config.Segment)
}

// align moves a cue to the boundary on which it takes effect: of a frame for
// the picture, of a segment for a discontinuity.
func (s *Stream) align(c Cue) Cue {
	switch c.Do {
	case Black, Picture:
		c.At = frameTime(videoFramesBefore(c.At))
	case Discontinuity:
		c.At = roundUp(c.At, s.config.Segment)
	}
	return c
}

// Available returns when the media at instant at appear in the playlist, if it
// is not frozen: when the segment that holds them is complete.
func (s *Stream) Available(at time.Time) time.Time {
	n := int64(at.Sub(s.config.Start)/s.config.Segment) + 1
	return s.config.Start.Add(s.begin(n))
}

// Sequence returns the media sequence number of the segment that holds the
// media at instant at, which is not before Began.
func (s *Stream) Sequence(at time.Time) uint64 {
	return uint64(max(0, at.Sub(s.config.Start)/s.config.Segment))
}

// offset returns the time since the first frame.
func (s *Stream) offset() time.Duration { return s.config.Now().Sub(s.config.Start) }

// published returns how many segments are published at offset at.
func (s *Stream) published(at time.Duration) int64 {
	edge, _ := s.timeline.edge(at)
	return int64(max(0, edge) / s.config.Segment)
}

// Fault returns the current fault of part, or nil.
func (s *Stream) Fault(part Part) httpfault.Fault { return s.timeline.fault(s.offset(), part) }

// Playlist returns the current playlist of the rendition with itag. Its error is
// ErrNotFound.
func (s *Stream) Playlist(itag int) (Playlist, error) {
	if _, err := s.rendition(itag); err != nil {
		return Playlist{}, err
	}
	at := s.offset()
	end := s.published(at)
	first := max(0, end-int64(s.config.Window/s.config.Segment))
	_, ended := s.timeline.edge(at)
	p := Playlist{
		Target:              s.config.Segment,
		First:               uint64(first),
		DiscontinuityNumber: s.timeline.discontinuities(s.begin(first)),
		Ended:               ended,
	}
	for n := first; n < end; n++ {
		e := Entry{Sequence: uint64(n), Duration: s.config.Segment, ProgramTime: s.config.Start.Add(s.begin(n))}
		e.Discontinuity = n > first && s.timeline.discontinuities(s.begin(n)) > s.timeline.discontinuities(s.begin(n-1))
		p.Entries = append(p.Entries, e)
	}
	return p, nil
}

// Segment returns the bytes of a segment, MPEG-TS. It may run ffmpeg. Its errors are
// ErrNotFound, ctx's, and ffmpeg's.
func (s *Stream) Segment(ctx context.Context, itag int, sequence uint64) ([]byte, error) {
	r, err := s.rendition(itag)
	if err != nil {
		return nil, err
	}
	n, end := int64(sequence), s.published(s.offset())
	// A player may fetch a segment that was listed a moment ago.
	available := 2 * int64(s.config.Window/s.config.Segment)
	if n < 0 || n >= end || n < end-available {
		return nil, fmt.Errorf("segment %d: %w", sequence, ErrNotFound)
	}
	return s.buildSegment(ctx, r, n)
}

func (s *Stream) rendition(itag int) (Rendition, error) {
	for _, r := range s.config.Renditions {
		if r.Itag == itag {
			return r, nil
		}
	}
	return Rendition{}, fmt.Errorf("rendition %d: %w", itag, ErrNotFound)
}

// begin returns the offset of segment n.
func (s *Stream) begin(n int64) time.Duration { return time.Duration(n) * s.config.Segment }
