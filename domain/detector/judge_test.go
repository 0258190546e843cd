package detector_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// judging feeds samples of 5 s, one each 10 s from second 0 on, to a detector, as the watch does.
type judging struct {
	t       *testing.T
	d       detector.Detector
	memory  json.RawMessage
	since   time.Time
	before  time.Time
	second  float64
	setting map[string]float64
	values  map[string]float64 // of the last verdict
}

var epoch = time.Date(2026, 1, 15, 20, 0, 0, 0, time.UTC)

func judge(t *testing.T, name detector.Name) *judging {
	t.Helper()
	j := &judging{t: t, d: detector.Table[detector.Index(name)], setting: map[string]float64{}}
	for _, s := range j.d.Settings {
		j.setting[s.Field] = s.Default
	}
	return j
}

// sample passes what was measured of the next segment, and expects a verdict: "good", "unknown", "forget", or
// the bad seconds, such as "12-20"; then " since 10" for what is suspected, and " closely".
func (j *judging) sample(measured detector.Measured, want string, changes ...func(*detector.Sample)) {
	j.t.Helper()
	at := func(sec float64) time.Time { return epoch.Add(time.Duration(sec * float64(time.Second))) }
	s := detector.Sample{
		From: at(j.second), To: at(j.second + 5), Origin: at(j.second), Before: j.before, Measured: measured,
		Video: detector.DecodedTrack{Present: true, To: 5 * time.Second}, Audio: detector.DecodedTrack{Present: true, To: 5 * time.Second},
	}
	if s.Taken == 0 {
		s.Taken = j.d.Needs
	}
	for _, change := range changes {
		change(&s)
	}
	var v detector.Verdict
	j.memory, v = j.d.Judge(j.memory, j.since, s, func(field string) float64 { return j.setting[field] })
	j.since, j.before, j.values = v.Since, s.To, v.Values
	var got []string
	for _, p := range v.Bad {
		got = append(got, fmt.Sprintf("%v-%v", p.From.Sub(epoch).Seconds(), p.To.Sub(epoch).Seconds()))
	}
	switch {
	case v.Forget:
		got = append(got, "forget")
	case v.Unknown:
		got = append(got, "unknown")
	case len(v.Bad) == 0:
		got = append(got, "good")
	}
	if !v.Since.IsZero() {
		got = append(got, fmt.Sprintf("since %v", v.Since.Sub(epoch).Seconds()))
	}
	if v.Closely {
		got = append(got, "closely")
	}
	if got := strings.Join(got, " "); got != want {
		j.t.Errorf("second %v: %s, want %s", j.second, got, want)
	}
	j.second += 10
}

func TestWhatWasNotMeasuredIsUnknown(t *testing.T) { // the command ffmpeg measures nothing
	for _, d := range detector.Table {
		if d.Rule != nil {
			judge(t, d.Name).sample(detector.Measured{Taken: detector.Damage << 1}, "unknown")
		}
	}
}

func TestAMemoryOfAnotherReleaseBeginsAgain(t *testing.T) {
	j := judge(t, detector.LoudnessLow)
	j.memory = json.RawMessage(`{"bad": "yes"}`)
	j.sample(loudness(-45), "0-5")
}
