package watch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// imaginary returns a scenario with a made-up detector, which finds these spans.
func imaginary(t *testing.T, found ...span) *world {
	t.Helper()
	detectortest.Add(t, detectortest.Imaginary) // its threshold is 45 s
	return scenario(t, checksEvery(5), func(w *world) {
		w.otherDetectors = map[detector.Name][]span{"imaginary": found}
	})
}

// imagined are the events when the detector finds second 100 to 160.
const imagined = "50 started since 0, 146 imaginary since 100 for 46, 162 imaginary_recovered since 100 until 160 for 60"

func TestAThirdDetectorFollowsFromItsRow(t *testing.T) {
	w := imaginary(t, span{100, 160}).from(50)
	w.until(120)
	if got := w.watcher.Report().Health; got.Video != "imaginary" || got.Audio != monitor.OK {
		t.Errorf("during the condition health is %+v", got)
	}
	w.until(250).expect(imagined)
	r := w.watcher.Report()
	if got := r.Statistics; got.Alerts("imaginary") != 1 || got.Alerts(detector.Blackout) != 0 {
		t.Errorf("the statistics are %+v", got)
	}
	if r.Health.Video != monitor.OK {
		t.Errorf("after the condition health is %+v", r.Health)
	}
}

func TestBlackoutComesBeforeAThirdDetectorInHealth(t *testing.T) { // the order of the table
	w := imaginary(t, span{100, 200})
	w.black = []span{{150, 200}}
	if got := w.from(50).until(170).watcher.Report().Health.Video; got != monitor.Black {
		t.Errorf("health is %s", got)
	}
}

func TestAThirdDetectorGoesOnAcrossARestart(t *testing.T) { // S11
	w := imaginary(t, span{100, 160}).from(50).until(120).resume(2).until(150).resume(2).until(250)
	w.expect(imagined)
	var kept struct {
		Version    int                        `json:"version"`
		Conditions map[string]json.RawMessage `json:"conditions"`
	}
	if err := json.Unmarshal(w.snapshot(), &kept); err != nil || kept.Version != 1 || len(kept.Conditions) != 3 || kept.Conditions["imaginary"] == nil {
		t.Errorf("the snapshot keeps %+v, %v", kept, err)
	}
}

func TestADetectorMissingFromASnapshotBeginsAtOnce(t *testing.T) { // S11
	w := scenario(t, checksEvery(5), black(100, 200), func(w *world) {
		w.otherDetectors = map[detector.Name][]span{"imaginary": {{100, 200}}}
	}).from(50).until(140)
	detectortest.Add(t, detectortest.Imaginary)
	w.resume(1).until(250).expect("50 started since 0, 130 blackout since 100 for 30, " +
		"184.3 imaginary since 138 for 46, 202 blackout_recovered since 100 until 200 for 100, 202 imaginary_recovered since 138 until 200 for 62")
}

func TestASnapshotOfAReleaseWithMoreDetectorsIsRead(t *testing.T) { // S11
	detectortest.Add(t, detectortest.Imaginary)
	w := scenario(t, black(100, 200)).from(50).until(145)
	all := bytes.ReplaceAll(w.snapshot(), []byte(`"imaginary"`), []byte(`"unknown"`))
	restored, err := watch.Restore(w.rules, all, at(146))
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := restored.Snapshot(); err != nil || bytes.Contains(kept, []byte("unknown")) {
		t.Errorf("it keeps %s, %v", kept, err)
	}
}

func TestASnapshotOfAnotherVersionIsRefused(t *testing.T) {
	for version, raw := range map[int]string{2: `{"version":2,"status":"monitoring"}`, 0: `{"status":"monitoring"}`} {
		_, err := watch.Restore(rules(), json.RawMessage(raw), at(0))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version is %d", version)) {
			t.Errorf("the error is %v", err)
		}
	}
}

// optional returns a scenario with an optional detector of the picture. It measures the level 1 in bad, nothing
// in unknown, and 0 otherwise.
func optional(t *testing.T, bad, unknown span) *world {
	t.Helper()
	d := detectortest.Optional
	d.Track = detector.Video
	d.Rule = func(_ json.RawMessage, _ time.Time, s detector.Sample, _ func(string) float64) (json.RawMessage, detector.Verdict) {
		if from := s.From.Sub(at(0)).Seconds(); within([]span{unknown}, from) {
			return nil, detector.Verdict{Unknown: true}
		}
		v := detector.Verdict{Values: map[string]float64{"level": float64(len(s.Intervals[d.Name]))}}
		for range s.Intervals[d.Name] {
			v.Bad = []detector.Period{{From: s.From, To: s.To}}
		}
		return nil, v
	}
	detectortest.Add(t, d)
	config := monitor.DefaultConfig()
	config.SetThresholdSec(d.Name, 20)
	return scenario(t, func(w *world) {
		w.rules = watch.RulesOf(config, watch.Smallest)
		w.otherDetectors = map[detector.Name][]span{d.Name: {bad}}
	})
}

func TestHealthHasTheStateOfEachOptionalDetectorThatRuns(t *testing.T) { // section 3.3
	w := optional(t, span{100, 160}, span{200, 230})
	w.black = []span{{120, 140}}
	w.playlistFailsIn[""] = []span{{300, 500}}
	for _, c := range []struct {
		until float64
		want  string
	}{
		{1, `[{"detector":"made_up","state":"unknown"}]`},
		{90, `[{"detector":"made_up","state":"ok","values":{"level":0}}]`},
		{112, `[{"detector":"made_up","state":"made_up","since":"102","values":{"level":1}}]`},
		{134, `[{"detector":"blackout","state":"black","since":"120"},{"detector":"made_up","state":"made_up","since":"102","alerted":true,"values":{"level":1}}]`},
		{190, `[{"detector":"made_up","state":"ok","values":{"level":0}}]`},
		{225, `[{"detector":"made_up","state":"unknown","values":{"level":0}}]`},
		{290, `[{"detector":"made_up","state":"ok","values":{"level":0}}]`},
		{480, `[{"detector":"made_up","state":"unknown","values":{"level":0}}]`},
	} {
		got := w.until(c.until).watcher.Report().Health.Conditions
		raw, _ := json.Marshal(got)
		for _, s := range got {
			stamp, _ := json.Marshal(s.Since)
			raw = bytes.ReplaceAll(raw, stamp, fmt.Appendf(nil, "%q", fmt.Sprint(s.Since.Sub(at(0)).Seconds())))
		}
		if string(raw) != c.want {
			t.Errorf("at %v: %s, want %s", c.until, raw, c.want)
		}
	}
}

func TestWithoutAnOptionalDetectorHealthHasNoConditions(t *testing.T) { // section 3.3
	w := scenario(t, black(100, 200)).from(50).until(145)
	if got := w.watcher.Report().Health; got.Video != monitor.Black || got.Conditions != nil {
		t.Errorf("health is %+v", got)
	}
}
