package evidence_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

func TestTheBestPictureShowsTheCondition(t *testing.T) {
	imaginary := detectortest.Imaginary
	imaginary.Track, imaginary.Clarity = detector.Audio, detector.Clarity{None: -40, Full: -20}
	detectortest.Add(t, imaginary)
	file := func(v evidence.Variant, measure float64) evidence.File {
		return evidence.File{Variant: v, Measure: &measure}
	}
	before := evidence.File{Variant: evidence.Before}
	for name, c := range map[string]struct {
		condition trouble.Name
		phase     evidence.Phase
		files     []evidence.File
		want      evidence.Variant // "": none
		clarity   float64
	}{
		"black":                {"black", evidence.AlertPhase, []evidence.File{file(evidence.Before, 120), file(evidence.Onset, 16)}, evidence.Onset, 0.75},
		"all black":            {"black", evidence.AlertPhase, []evidence.File{file(evidence.Onset, 0)}, evidence.Onset, 1},
		"bright":               {"black", evidence.AlertPhase, []evidence.File{file(evidence.Onset, 200)}, evidence.Onset, 0},
		"silent":               {"silent", evidence.AlertPhase, []evidence.File{file(evidence.Onset, 16), file(evidence.Level, -45)}, evidence.Level, 0.5},
		"digital silence":      {"silent", evidence.AlertPhase, []evidence.File{file(evidence.Level, -120)}, evidence.Level, 1},
		"silent, picture only": {"silent", evidence.AlertPhase, []evidence.File{file(evidence.Onset, 16)}, evidence.Onset, 0.5},
		"another of the sound": {"imagined", evidence.AlertPhase, []evidence.File{file(evidence.Onset, 16), file(evidence.Level, -25)}, evidence.Level, 0.75},
		"no media":             {"no_media", evidence.AlertPhase, []evidence.File{file(evidence.Level, -20), file(evidence.Before, 120)}, evidence.Before, 0.5},
		"no media, sound only": {"no_media", evidence.AlertPhase, []evidence.File{file(evidence.Level, -20)}, evidence.Level, 0.5},
		"blind":                {"blind", evidence.AlertPhase, []evidence.File{before, file(evidence.Level, -20)}, evidence.Before, 0.5},
		"only before":          {"black", evidence.AlertPhase, []evidence.File{file(evidence.Before, 120)}, "", 0},
		"a recovery":           {"black", evidence.RecoveryPhase, []evidence.File{file(evidence.Onset, 16)}, "", 0},
		"nothing":              {"black", evidence.AlertPhase, nil, "", 0},
	} {
		f, clarity, ok := evidence.Record{Condition: c.condition, Phase: c.phase, Files: c.files}.BestPicture()
		if f.Variant != c.want || ok != (c.want != "") || clarity != c.clarity {
			t.Errorf("%s: %s with %v, want %s with %v", name, f.Variant, clarity, c.want, c.clarity)
		}
	}
}
