package livestream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

	mu       sync.Mutex
	began    time.Time // zero: not yet
	notFound []string
}

// Start begins a stream. It first encodes what the library does not have yet: 0.2 s for a unit, of
// which a loop has some. Units in which the picture or the sound changes are encoded when they
// are requested. If the stream waits for a request, they are encoded before it begins.
func (l *Library) Start(ctx context.Context, c Config) (*Stream, error) {
	c.applyDefaults()
	s := &Stream{library: l, config: c}
	end := loopDuration
	for _, cue := range c.Script {
		s.timeline.add(s.align(cue))
		if c.Waits {
			end = max(end, cue.At+loopDuration)
		}
	}
	for _, r := range c.Renditions {
		if r.isText() {
			continue
		}
		for offset := time.Duration(0); offset < end; offset += c.Segment {
			if err := s.prepare(ctx, r, offset); err != nil {
				return nil, err
			}
		}
	}
	if !c.Waits {
		s.Began()
	}
	return s, nil
}

// prepare encodes the unit at an offset: as the script has it, and all black or silent, as a cue may
// make it. Other scenes are encoded when they are requested.
func (s *Stream) prepare(ctx context.Context, r Rendition, offset time.Duration) error {
	scripted := s.unit(r, offset)
	units := []unit{scripted}
	if whole := []span{{0, scripted.length}}; !s.config.Waits {
		black, silent := scripted, scripted
		black.black, silent.silent = whole, whole
		units = append(units, black, silent)
	}
	for _, u := range units {
		if _, err := s.library.load(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// Began returns the instant of the first frame.
func (s *Stream) Began() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() {
		start := s.config.Start
		if start.IsZero() {
			start = s.config.Now()
		}
		s.began = start.Add(-s.config.Preroll).Truncate(time.Millisecond) // as playlists state times
	}
	return s.began
}

// At returns the instant at an offset from the first frame.
func (s *Stream) At(offset time.Duration) time.Time { return s.Began().Add(offset) }

// SegmentDuration returns the duration of each segment.
func (s *Stream) SegmentDuration() time.Duration { return s.config.Segment }

// Renditions lists the qualities that the entry lists now.
func (s *Stream) Renditions() []Rendition {
	at := s.offset()
	return slices.DeleteFunc(slices.Clone(s.config.Renditions), func(r Rendition) bool {
		last, _ := s.timeline.of(r.Itag).last(at, Unlist, List)
		return last.Do == Unlist
	})
}

// Black makes the picture black, or brings it back, and returns the instant of
// the first frame that shows it.
func (s *Stream) Black(on bool) time.Time { return s.toggle(on, Black, Picture) }

// BlackIn makes the picture of one rendition black, or brings it back, and returns the instant.
func (s *Stream) BlackIn(itag int, on bool) time.Time {
	action := Picture
	if on {
		action = Black
	}
	return s.Do(Cue{Do: action, Itag: itag})
}

// Silence takes the sound away, or brings it back, and returns the instant.
func (s *Stream) Silence(on bool) time.Time { return s.toggle(on, Silence, Sound) }

// Quiet makes the sound 20 dB lower, or as loud as before, and returns the instant.
func (s *Stream) Quiet(on bool) time.Time { return s.toggle(on, Quiet, Loud) }

// Still lets the picture stand still, or move again, and returns the instant of
// the first frame that does.
func (s *Stream) Still(on bool) time.Time { return s.toggle(on, Still, Motion) }

// Bars shows colour bars with a tone of 1 kHz, or ends them. It returns the instant of the first frame that
// differs.
func (s *Stream) Bars(on bool) time.Time { return s.toggle(on, Bars, NoBars) }

// LeftOnly takes the right channel away from renditions that have two, or brings it back,
// and returns the instant.
func (s *Stream) LeftOnly(on bool) time.Time { return s.toggle(on, LeftOnly, BothSides) }

// Overload makes the sound clip at full scale, or takes it back, and returns the instant.
func (s *Stream) Overload(on bool) time.Time { return s.toggle(on, Overload, NoOverload) }

// Damage loses packets of the picture, in segments that begin from now on, or loses no more, and
// returns this instant. The stream's segments are MPEG-TS.
func (s *Stream) Damage(on bool) time.Time { return s.toggle(on, Damage, NoDamage) }

// NoCaptions empties the captions of renditions that have some, or lets their text go on, and returns
// the instant of the first frame that does. Captions as text change with their next segment.
func (s *Stream) NoCaptions(on bool) time.Time { return s.toggle(on, NoCaptions, Captions) }

// Freeze stops the playlists, or lets them jump to the live edge, and returns
// the instant.
func (s *Stream) Freeze(on bool) time.Time { return s.toggle(on, Freeze, Thaw) }

// End ends the stream with EXT-X-ENDLIST and returns the end of its last
// segment. The unfinished segment is lost.
func (s *Stream) End() time.Time {
	s.Do(Cue{Do: End})
	return s.At(s.begin(s.published(everyRendition, s.offset())))
}

// Fail answers part with f from now on.
func (s *Stream) Fail(part Part, f httpfault.Fault) { s.Do(Cue{Do: Fail, Part: part, Fault: f}) }

// Heal ends the failure of a part.
func (s *Stream) Heal(part Part) { s.Do(Cue{Do: Heal, Part: part}) }

// Do adds a cue, at c.At or now, whichever is later, and returns the instant
// at which it takes effect. Published media never change. Picture and sound
// change at the next instant of edits instead of now.
func (s *Stream) Do(c Cue) time.Time {
	if now := s.offset(); c.At < now {
		c.At = now
		if c.Do.changesMedia() {
			c.At = nextEdit(now)
		}
	}
	c = s.align(c)
	s.timeline.add(c)
	return s.At(c.At)
}

// The instants of edits. They are so few that the library soon has every unit with an edit in it.
const (
	firstEdit = 200 * time.Millisecond
	editEvery = 500 * time.Millisecond
)

// nextEdit returns the first instant of edits that is not before an offset.
func nextEdit(offset time.Duration) time.Duration {
	return firstEdit + (offset - firstEdit + editEvery - 1).Truncate(editEvery)
}

func (s *Stream) toggle(on bool, start, stop Action) time.Time {
	if on {
		return s.Do(Cue{Do: start})
	}
	return s.Do(Cue{Do: stop})
}

// align moves a cue of the picture to the frame with which it takes effect. A frame's time is rounded
// down, so that the frame does not begin before it.
func (s *Stream) align(c Cue) Cue {
	switch c.Do {
	case Black, Picture, Still, Motion, Bars, NoBars, NoCaptions, Captions:
		c.At = time.Duration(videoFramesBefore(c.At)) * time.Second / fps
	}
	return c
}

// Available returns when the media at instant at appear in the playlist, if it
// is not frozen: when the segment that holds them is complete.
func (s *Stream) Available(at time.Time) time.Time {
	return s.At(s.begin(int64(s.Sequence(at)) + 1))
}

// Sequence returns the media sequence number of the segment that holds the
// media at instant at, which is not before Began.
func (s *Stream) Sequence(at time.Time) uint64 {
	return uint64(max(0, at.Sub(s.Began())/s.config.Segment))
}

// Fault returns the current fault of part in all renditions, or nil.
func (s *Stream) Fault(part Part) httpfault.Fault {
	return s.timeline.of(everyRendition).fault(s.offset(), part)
}

// NotFound lists the requested files that did not exist: not yet published, in a gap, or unknown.
func (s *Stream) NotFound() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notFound)
}

// offset returns the time since the first frame.
func (s *Stream) offset() time.Duration { return s.config.Now().Sub(s.Began()) }

// everyRendition is the Itag of what happens in all renditions.
const everyRendition = 0

// published returns how many segments of a rendition are published at an offset.
func (s *Stream) published(itag int, at time.Duration) int64 {
	edge, _ := s.timeline.of(itag).edge(at)
	p, n := s.config.Packaging, int64(max(0, edge)/s.config.Segment)
	if p.Reconnect > 0 && edge > p.Reconnect {
		n = int64(max(p.Reconnect, edge-p.ReconnectGap) / s.config.Segment)
	}
	return n
}

// begin returns the offset of segment n.
func (s *Stream) begin(n int64) time.Duration {
	at := time.Duration(n) * s.config.Segment
	if s.reconnected(n) {
		at += s.config.Packaging.ReconnectGap
	}
	return at
}

// reconnected reports whether segment n was captured after the encoder has reconnected.
func (s *Stream) reconnected(n int64) bool {
	r := s.config.Packaging.Reconnect
	return r > 0 && time.Duration(n)*s.config.Segment >= r
}

// rendition returns the rendition with itag. Error: ErrNotFound.
func (s *Stream) rendition(itag int) (Rendition, error) {
	for _, r := range s.config.Renditions {
		if r.Itag == itag {
			return r, nil
		}
	}
	return Rendition{}, fmt.Errorf("rendition %d: %w", itag, ErrNotFound)
}
