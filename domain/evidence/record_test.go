package evidence_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

const (
	day     = 24 * time.Hour
	eventID = "0190a5d0-1c2b-7d8a-9c1d-000000000001"
)

func TestEvidenceIsKeptByItsClass(t *testing.T) {
	retention := evidence.Retention{Normal: evidence.DefaultRetention, Quarantine: evidence.DefaultQuarantineRetention}
	for class, want := range map[evidence.Class]time.Time{
		evidence.Normal:     noon.Add(14 * day),
		evidence.Quarantine: noon.Add(60 * day),
		evidence.Case:       {},
	} {
		if got := retention.ExpiresAt(evidence.Record{Class: class, CreatedAt: noon}); !got.Equal(want) {
			t.Errorf("%s expires at %v, want %v", class, got, want)
		}
	}
}

func TestSevereAndUnclearEvidenceIsQuarantined(t *testing.T) {
	for _, c := range []struct {
		severity int
		unclear  bool
		want     evidence.Class
	}{
		{0, false, evidence.Normal},
		{1, false, evidence.Normal},
		{2, false, evidence.Quarantine},
		{3, false, evidence.Quarantine},
		{0, true, evidence.Quarantine},
	} {
		if got := evidence.ClassOf(c.severity, c.unclear); got != c.want {
			t.Errorf("severity %d, unclear %t: %s, want %s", c.severity, c.unclear, got, c.want)
		}
	}
}

func TestAnIncidentRaisesOnlyNormalEvidence(t *testing.T) {
	for from, want := range map[evidence.Class]evidence.Class{
		evidence.Normal:     evidence.Quarantine,
		evidence.Quarantine: evidence.Quarantine,
		evidence.Case:       evidence.Case,
	} {
		if got := from.Raise(evidence.Quarantine); got != want {
			t.Errorf("%s becomes %s, want %s", from, got, want)
		}
	}
	if got := evidence.Quarantine.Raise(evidence.Normal); got != evidence.Quarantine {
		t.Errorf("quarantine becomes %s", got)
	}
}

func TestAFileKeepsTheLimitsOfItsVariant(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	for _, v := range evidence.Variants() {
		if v.MediaType() == "" || v.MaxBytes() == 0 || !strings.Contains(v.FileName(firstID), string(v)+".") {
			t.Errorf("%s has no form", v)
		}
		valid := evidence.File{Variant: v, Size: v.MaxBytes(), Width: 640, Height: 360, TakenAt: noon, Measure: number(16)}
		requireCode(t, valid.Valid(), "")
		for name, alter := range map[string]func(*evidence.File){
			"empty":           func(f *evidence.File) { f.Size = 0 },
			"too large":       func(f *evidence.File) { f.Size++ },
			"negative width":  func(f *evidence.File) { f.Width = -1 },
			"too high":        func(f *evidence.File) { f.Height = 4097 },
			"no time":         func(f *evidence.File) { f.TakenAt = time.Time{} },
			"not a number":    func(f *evidence.File) { f.Measure = number(math.NaN()) },
			"infinite":        func(f *evidence.File) { f.Measure = number(math.Inf(-1)) },
			"unknown variant": func(f *evidence.File) { f.Variant = "thumbnail" },
		} {
			f := valid
			if alter(&f); f.Valid() == nil {
				t.Errorf("%s, %s: accepted", v, name)
			}
		}
	}
}

func TestARecordNamesItsEvent(t *testing.T) {
	valid := evidence.Record{EventID: eventID, Condition: "no_media", Phase: evidence.AlertPhase}
	requireCode(t, valid.Valid(), "")
	for name, alter := range map[string]func(*evidence.Record){
		"no event":        func(r *evidence.Record) { r.EventID = "" },
		"an event like 1": func(r *evidence.Record) { r.EventID = "1" },
		"no condition":    func(r *evidence.Record) { r.Condition = "" },
		"a strange one":   func(r *evidence.Record) { r.Condition = "Black!" },
		"no phase":        func(r *evidence.Record) { r.Phase = "" },
	} {
		r := valid
		alter(&r)
		t.Run(name, func(t *testing.T) { requireCode(t, r.Valid(), monitor.InvalidConfig) })
	}
}

func TestNamesAreParsed(t *testing.T) {
	for _, v := range evidence.Variants() {
		if got, err := evidence.ParseVariant(string(v)); got != v || err != nil {
			t.Errorf("%s is read as %s: %v", v, got, err)
		}
	}
	_, err := evidence.ParseVariant("../clip")
	requireCode(t, err, evidence.NotFound)
	if id, err := evidence.ParseID(strings.ToUpper(string(firstID))); id != firstID || err != nil {
		t.Errorf("capitals are read as %s: %v", id, err)
	}
	_, err = evidence.ParseID("1")
	requireCode(t, err, evidence.NotFound)
	_, err = evidence.ParseClass("eternal")
	requireCode(t, err, monitor.InvalidConfig)
	_, err = evidence.ParseDigest("abc")
	requireCode(t, err, monitor.InvalidConfig)
	text := strings.Repeat("0f", 32)
	if d, err := evidence.ParseDigest(text); err != nil || d.String() != text {
		t.Errorf("the digest is %s: %v", d, err)
	}
}

func TestANoteIsMadeOneLine(t *testing.T) {
	long := strings.Repeat("配", evidence.MaxNote)
	for text, want := range map[string]string{
		"no segment":                    "no segment",
		"":                              "",
		" a\x00b\r\n\tc\u008d ":         "a b c",
		"\xff\xfe":                      "",
		long:                            long[:evidence.MaxNote/3*3],
		strings.Repeat("x", 1024):       strings.Repeat("x", 1024),
		strings.Repeat("x", 1024) + "y": strings.Repeat("x", 1024),
	} {
		if got := evidence.CleanNote(text); got != want {
			t.Errorf("%.20q becomes %.20q, want %.20q", text, got, want)
		}
	}
}

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
