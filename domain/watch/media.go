package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Media describes one watched media playlist as it was last read.
type Media struct {
	URL      string
	Video    bool      // the picture is judged by it
	Audio    bool      // the sound is judged by it
	Height   int       // lines of the picture; 0: unknown
	Segments []Segment // oldest first, without advertisements, each with its ProgramTime on the media timeline
}

// Media returns the watched playlists that have been read, for captures of evidence
// (section 16.2). The caller must not change the segments.
func (w *Watcher) Media() (all []Media) {
	for _, f := range w.state.Feeds {
		segments := slices.Clip(f.listing.segments)
		if slices.ContainsFunc(segments, func(s Segment) bool { return s.Ad }) {
			segments = slices.DeleteFunc(slices.Clone(segments), func(s Segment) bool { return s.Ad })
		}
		if len(segments) > 0 {
			all = append(all, Media{f.URL, f.Tracks.Video, f.Tracks.Audio, f.Quality.Height, segments})
		}
	}
	return all
}

// OpenCondition is a detector's condition that lasts. Times are on the media timeline.
type OpenCondition struct {
	Detector detector.Detector
	Onset    time.Time // first bad instant
	BadUntil time.Time // the newest instant known to be bad
	Alerted  bool
	Values   map[string]float64 // of the newest verdict that has some
}

// OpenConditions returns the conditions that last, in the order of detector.Table.
func (w *Watcher) OpenConditions() (open []OpenCondition) {
	for _, d := range detector.Table {
		if c := w.state.Conditions[d.Name]; c != nil && c.Open {
			open = append(open, OpenCondition{d, c.Onset, c.BadUntil, c.Alerted, c.Values})
		}
	}
	return open
}

// OtherRendition is a rendition that is not the watched one, as the newest look has found it (decision S22).
type OtherRendition struct {
	Height    int           // lines of the picture; 0: unknown
	Bandwidth int           // bits per second; 0: unknown
	Segment   *Segment      // that the look has decoded; nil: no picture could be decoded
	Shows     time.Duration // after the start of Segment, the picture that is black, or the first one
}

// OtherRenditions returns the renditions that are known beside the watched one, for captures of evidence. None has a
// Segment after a restart, until a look.
func (w *Watcher) OtherRenditions() (all []OtherRendition) {
	for _, r := range w.state.Others.All {
		all = append(all, OtherRendition{r.Height, r.Bandwidth, r.decoded, r.shows})
	}
	return all
}
