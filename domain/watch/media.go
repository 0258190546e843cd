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
	Segments []Segment // oldest first, each with its ProgramTime on the media timeline
}

// Media returns the watched playlists that have been read, for captures of evidence
// (section 16.2). The caller must not change the segments.
func (w *Watcher) Media() (all []Media) {
	for _, f := range w.state.Feeds {
		if len(f.listing.segments) > 0 {
			all = append(all, Media{f.URL, f.Tracks.Video, f.Tracks.Audio, f.Quality.Height, slices.Clip(f.listing.segments)})
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
}

// OpenConditions returns the conditions that last, in the order of detector.Table.
func (w *Watcher) OpenConditions() (open []OpenCondition) {
	for _, d := range detector.Table {
		if c := w.state.Conditions[d.Name]; c != nil && c.Open {
			open = append(open, OpenCondition{d, c.Onset, c.BadUntil, c.Alerted})
		}
	}
	return open
}
