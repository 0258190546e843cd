package capture

import (
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// stream is what a Tracker remembers of its stream.
type stream struct {
	renditions []watch.Rendition // as last listed
	media      []watch.Media     // the watched playlists; Segments are remembered
	levels     []Level           // as measured by the checks
	silenceDB  float64

	others []watch.OtherRendition // beside the watched one, as last looked at
	bad    detector.Rendition     // of others, that an open condition names
}

// learn remembers renditions and segments.
func (s *stream) learn(in Input) {
	s.silenceDB, s.others = in.SilenceDB, in.Others
	for _, c := range in.Open {
		if named, ok := detector.NamedRendition(c.Values); ok && c.Detector.JudgesRenditions() {
			s.bad = named
		}
	}
	switch o := in.Observation.(type) {
	case watch.Resolution:
		if len(o.Renditions) > 0 {
			s.renditions = o.Renditions
		}
	case watch.Playlist:
		if len(o.Renditions) > 0 {
			s.renditions = o.Renditions
		}
	}
	var media []watch.Media
	for _, m := range in.Media {
		for _, old := range s.media {
			if old.Video == m.Video && old.Audio == m.Audio {
				m.Segments = merge(old.Segments, m.Segments)
				break
			}
		}
		media = append(media, m)
	}
	if len(media) > 0 {
		s.media = media
	}
	if a, ok := in.Observation.(watch.Analysis); ok {
		s.learnLevels(a)
	}
}

// learnLevels remembers the sound levels of an analysis, on the media timeline.
func (s *stream) learnLevels(a watch.Analysis) {
	for _, m := range s.media {
		if i := slices.IndexFunc(m.Segments, func(known watch.Segment) bool { return known.ID() == a.Segment }); i >= 0 {
			s.levels = addLevels(s.levels, m.Segments[i], a.Measures)
			return
		}
	}
}

// withMedia adds pictures, media and sound levels to a job.
func (s *stream) withMedia(j Job) Job {
	j.SilenceDB = s.silenceDB
	if j.Step == Complete {
		j.LevelsFrom = j.Instant.Add(-LastMinute)
		if least := j.Instant.Add(After); j.LevelsTo.Before(least) {
			j.LevelsTo = least
		}
		j.Levels = levelsBetween(s.levels, j.LevelsFrom, j.LevelsTo)
	}
	j.Pictures = picturesOf(j.Phase, j.Instant)
	if j.Condition == trouble.NoMedia || j.Condition == trouble.Blind {
		j.Pictures = j.Pictures[:1] // there is no picture of no media
	}
	for _, m := range s.media {
		j.Tracks = append(j.Tracks, Track{m.Video, m.Audio, m.Height, around(m.Segments, j.Instant)})
		if m.Video {
			j.Extra = extraRendition(s.renditions, m)
		}
	}
	return j
}

// withRendition lets a job of a rendition that is not the watched one show that one, if it was black. Of one that was bad
// otherwise there is nothing to see, which the job notes. Nothing else is taken from another rendition: it might be the
// bad one.
func (s *stream) withRendition(j Job, shown detector.Rendition) Job {
	if d, _ := detector.Of(j.Condition); !d.JudgesRenditions() {
		return j
	}
	j.Extra = watch.Rendition{}
	if j.Phase == evidence.AlertPhase && shown.State != detector.RenditionBlack {
		if j.Step == Complete {
			j.Note = fmt.Sprintf("the bad quality (%s) has no picture: those of the watched one are shown", shown.State)
		}
		return j
	}
	for _, o := range s.others {
		if o.Segment == nil || o.Height != shown.Height || o.Bandwidth != shown.Bandwidth {
			continue
		}
		p, from := &j.Pictures[len(j.Pictures)-1], *o.Segment
		if from.ProgramTime.IsZero() {
			from.ProgramTime = j.Instant
		}
		p.Segment, p.Height, p.At = &from, o.Height, from.ProgramTime.Add(o.Shows)
		break
	}
	return j
}

// mediaEnd returns the end of the newest media of all tracks; zero: none are known.
func (s *stream) mediaEnd() (end time.Time) {
	for _, m := range s.media {
		if n := len(m.Segments); n > 0 {
			if last := m.Segments[n-1].End(); end.IsZero() || last.Before(end) {
				end = last
			}
		}
	}
	return end
}

// newestStart returns the start of the newest segment, of the picture if there is one.
func (s *stream) newestStart() (start time.Time) {
	for _, m := range s.media {
		if n := len(m.Segments); n > 0 && (start.IsZero() || m.Video) {
			start = m.Segments[n-1].ProgramTime
		}
	}
	return start
}
