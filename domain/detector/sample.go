package detector

import (
	"slices"
	"time"
)

// Sample is a segment on the media timeline, with what was measured of it. It is what a
// detector judges.
type Sample struct {
	From, To time.Time // of the segment
	Origin   time.Time // from which measured times count
	Before   time.Time // end of the newest sample that this detector has judged; zero: there is none, or it belongs to a time before an outage
	Video    DecodedTrack
	Audio    DecodedTrack

	// OtherSound says that another feed of the stream carries the sound, and that this was not silent
	// when it was last judged. Tone is then that of a sample of that feed which was not judged before.
	OtherSound bool

	Renditions []Rendition // of the stream, but for the watched one; the largest first

	CaptionsDeclared bool // the stream's list of renditions says that there are captions

	ScheduledStart time.Time   // of the broadcast; zero: none is known
	References     []Reference // that people have uploaded

	Intervals map[Name][]Interval
	Measured
}

// DecodedTrack is one track of a decoded segment. Times count from the first timestamp of
// the segment, which any of its tracks may have.
type DecodedTrack struct {
	Present bool          `json:"present"` // the container announces the track
	From    time.Duration `json:"from"`    // of its first decoded frame
	To      time.Duration `json:"to"`      // end of its last decoded frame; equal to From: no frame could be decoded

	// Screened says that only some frames were decoded: key frames of the picture, or some of
	// each second of the sound (decision S18). They are good, and show as much as the watch asked for.
	// The analyser may look more closely than it was asked to.
	Screened bool `json:"screened,omitempty"`
}

// Decoded reports whether any frame of the track was decoded.
func (t DecodedTrack) Decoded() bool { return t.Present && t.To > t.From }

// Interval is a part of a segment.
type Interval struct {
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
}

// Period is a part of the media timeline.
type Period struct{ From, To time.Time }

// At is the instant of a measured time.
func (s Sample) At(measured time.Duration) time.Time { return s.Origin.Add(measured) }

// Track returns what was decoded of a track.
func (s Sample) Track(t Track) DecodedTrack {
	if t == Audio {
		return s.Audio
	}
	return s.Video
}

// place puts intervals of a track on the media timeline. The tracks of a segment seldom begin and
// end together. So an interval that touches the start or end of its track is extended to the start
// or end of the segment.
func (s Sample) place(t DecodedTrack, bad []Interval) []Period {
	var out []Period
	for _, i := range bad {
		p := Period{s.At(i.From), s.At(i.To)}
		if i.From <= t.From || p.From.Before(s.From) {
			p.From = s.From
		}
		if i.To >= t.To || p.To.After(s.To) {
			p.To = s.To
		}
		if p.To.After(p.From) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Period) int { return a.From.Compare(b.From) })
	return out
}
