package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// levelsBody is the JSON of evidence.Levels (section 16.2).
type levelsBody struct {
	From      time.Time     `json:"from"`           // of the first level
	To        time.Time     `json:"to"`             // end of the last one
	Instant   time.Time     `json:"instant"`        // onset or recovery
	Threshold float64       `json:"threshold_dbfs"` // silence_db_threshold
	Levels    []levelOfTime `json:"levels"`
}

type levelOfTime struct {
	At   time.Time `json:"at"`
	DBFS float64   `json:"dbfs"` // RMS of about a second, -120 to 0
}

// levelLength is the time that a level stands for.
const levelLength = time.Second

// soundLevels makes the sound levels of one capture.
type soundLevels struct {
	tools     Tools
	media     *capturedMedia
	files     *files
	defects   *defects
	condition trouble.Name
}

// make makes the sound levels of the time that the job names, as numbers and as
// their picture. Sound that cannot be measured costs a note.
func (s *soundLevels) make(ctx context.Context, j capture.Job) {
	if !slices.ContainsFunc(j.Tracks, func(t capture.Track) bool { return t.Audio }) {
		return
	}
	levels := s.levels(ctx, j)
	if len(levels) == 0 {
		s.defects.note("level: no sound is known")
		return
	}
	body := newLevelsBody(j, levels)
	raw, err := json.Marshal(body)
	if err != nil {
		s.defects.note("levels: %v", err)
		return
	}
	numbers, measure := bytes.NewReader(raw), body.measure()
	s.files.add(evidence.File{Variant: evidence.Levels, TakenAt: body.From, Measure: measure}, numbers, numbers.Size(), nil)
	plot, err := plotLevels(body)
	if err != nil {
		s.defects.note("level: %v", err)
		return
	}
	picture := bytes.NewReader(plot)
	f := evidence.File{Variant: evidence.Level, Width: plotWidth, Height: plotHeight, TakenAt: body.From, Measure: measure}
	s.files.add(f, picture, picture.Size(), nil)
}

// levels measures the sound of the media that were fetched. For all other times it takes
// the levels that the checks have measured. The oldest comes first.
func (s *soundLevels) levels(ctx context.Context, j capture.Job) []capture.Level {
	checked := slices.Clone(j.Levels)
	var levels []capture.Level
	for _, t := range s.media.tracks {
		if !t.audio {
			continue
		}
		for _, run := range t.runs() {
			from, to := run[0].segment.ProgramTime, run[len(run)-1].segment.End()
			measured, err := s.measure(ctx, t, run)
			if err != nil {
				s.defects.note("level: %v", err)
				d, detected := detector.Of(s.condition)
				s.defects.unclear = s.defects.unclear || detected && d.Track == detector.Audio
				continue
			}
			checked = slices.DeleteFunc(checked, func(l capture.Level) bool { return !l.At.Before(from) && l.At.Before(to) })
			levels = append(levels, measured...)
		}
		break
	}
	levels = slices.DeleteFunc(append(levels, checked...), func(l capture.Level) bool {
		return l.At.Before(j.LevelsFrom) || !l.At.Before(j.LevelsTo)
	})
	slices.SortStableFunc(levels, func(a, b capture.Level) int { return a.At.Compare(b.At) })
	return levels
}

// measure measures the sound of consecutive parts. Their timestamps may claim more time
// than they last.
func (s *soundLevels) measure(ctx context.Context, t *track, run []part) ([]capture.Level, error) {
	first, last := run[0], run[len(run)-1]
	measures, err := s.tools.Levels(ctx, t.media(run))
	if err != nil {
		return nil, fmt.Errorf("measure the sound: %w", err)
	}
	var levels []capture.Level
	for _, m := range measures {
		if at := first.segment.ProgramTime.Add(m.At); m.Level != nil && at.Before(last.segment.End()) {
			levels = append(levels, capture.Level{At: at, DBFS: *m.Level})
		}
	}
	return levels, nil
}

// newLevelsBody returns the body of levels, of which there is at least one.
func newLevelsBody(j capture.Job, levels []capture.Level) levelsBody {
	body := levelsBody{
		From: levels[0].At.UTC().Truncate(time.Millisecond), To: levels[len(levels)-1].At.Add(levelLength).UTC().Truncate(time.Millisecond),
		Instant: j.Instant.UTC(), Threshold: j.SilenceDB, Levels: []levelOfTime{},
	}
	for _, l := range levels {
		body.Levels = append(body.Levels, levelOfTime{l.At.UTC().Truncate(time.Millisecond), math.Round(l.DBFS*10) / 10})
	}
	return body
}

// measure returns the level of the instant: the last one that begins up to a second
// later, or the first one.
func (b levelsBody) measure() *float64 {
	level := b.Levels[0].DBFS
	for _, l := range b.Levels {
		if !l.At.After(b.Instant.Add(levelLength)) {
			level = l.DBFS
		}
	}
	return &level
}
