package watch_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// imaginary returns a scenario with a made-up detector, which finds these spans.
func imaginary(t *testing.T, found ...span) *world {
	t.Helper()
	detectortest.Add(t, detectortest.Imaginary) // its threshold is 45 s
	return scenario(t, func(w *world) {
		w.rules.CheckInterval = seconds(5)
		w.otherDetectors = map[detector.Name][]span{"imaginary": found}
	})
}

func TestAThirdDetectorFollowsFromItsRow(t *testing.T) {
	w := imaginary(t, span{100, 160}).from(50)
	w.until(120)
	if got := w.watcher.Report().Health; got.Video != "imaginary" || got.Audio != monitor.OK {
		t.Errorf("during the condition health is %+v", got)
	}
	w.until(250).expect(
		emits(50, event.StreamStarted),
		emits(146, "alert.imaginary", since(100), lasting(46)),
		emits(162, "alert.imaginary_recovered", since(100), lasting(60)),
	)
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
	w.expect(
		emits(50, event.StreamStarted),
		emits(146, "alert.imaginary", since(100)),
		emits(162, "alert.imaginary_recovered", since(100), lasting(60)),
	)
	var kept struct {
		Version    int                        `json:"version"`
		Conditions map[string]json.RawMessage `json:"conditions"`
	}
	if err := json.Unmarshal(w.snapshot(), &kept); err != nil || kept.Version != 1 || len(kept.Conditions) != len(detector.Table) || kept.Conditions["imaginary"] == nil {
		t.Errorf("the snapshot keeps %+v, %v", kept, err)
	}
}

func TestADetectorMissingFromASnapshotBeginsAtOnce(t *testing.T) { // S11
	w := scenario(t, func(w *world) {
		w.rules.CheckInterval = seconds(5)
		w.black = []span{{100, 200}}
		w.otherDetectors = map[detector.Name][]span{"imaginary": {{100, 200}}}
	}).from(50).until(140)
	detectortest.Add(t, detectortest.Imaginary)
	w.resume(1).until(250)
	for _, typ := range []event.Type{event.Blackout, event.BlackoutRecovered, "alert.imaginary", "alert.imaginary_recovered"} {
		if n := w.emitted(typ); n != 1 {
			t.Errorf("%s was emitted %d times", typ, n)
		}
	}
}

func TestASnapshotOfAReleaseWithMoreDetectorsIsRead(t *testing.T) { // S11
	detectortest.Add(t, detectortest.Imaginary)
	w := scenario(t, func(w *world) { w.black = []span{{100, 200}} }).from(50).until(145)
	all := bytes.ReplaceAll(w.snapshot(), []byte(`"imaginary"`), []byte(`"unknown"`))
	restored, err := watch.Restore(w.rules, all, at(146))
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := restored.Snapshot(); err != nil || bytes.Contains(kept, []byte("unknown")) {
		t.Errorf("it keeps %s, %v", kept, err)
	}
}

func TestASnapshotOfALaterVersionIsRefused(t *testing.T) {
	_, err := watch.Restore(rules(), json.RawMessage(`{"version":2}`), at(0))
	if err == nil || !strings.Contains(err.Error(), "version is 2") {
		t.Errorf("the error is %v", err)
	}
}

// The snapshot is of second 155. The picture has been black since 100, which was
// alerted. The sound has been silent since 130. Its segments fail from 150 to 158.
func TestASnapshotWithoutAVersionIsRestored(t *testing.T) { // S11
	raw, err := os.ReadFile("testdata/snapshot_unversioned.json")
	if err != nil {
		t.Fatal(err)
	}
	w := scenario(t, func(w *world) {
		w.separateTracks = true
		w.rules.CheckInterval = seconds(5)
		w.black = []span{{100, 200}}
		w.silent = []span{{130, 200}}
		w.segmentsFailIn = map[string][]span{"/sound/": {{150, 158}}}
	})
	w.now = 156
	if w.watcher, err = watch.Restore(w.rules, raw, at(156)); err != nil {
		t.Fatal(err)
	}
	r := w.watcher.Report()
	if r.Status != monitor.Monitoring || r.Health.Video != monitor.Black || r.Statistics.TotalSegmentsAnalyzed != 55 || r.Statistics.Alerts(detector.Blackout) != 1 {
		t.Errorf("the restored report is %+v", r)
	}
	w.until(300)
	if w.emitted(event.Silence) != 1 || w.emitted(event.Blackout) != 0 || w.emitted(event.StreamStarted) != 0 || len(w.events) != 3 {
		t.Fatalf("emitted %v", w.events)
	}
	for _, e := range w.events {
		switch d := e.Data.(type) {
		case event.Alert:
			if complaint := since(130)(d); complaint != "" {
				t.Error(complaint)
			}
		case event.Recovered:
			want := map[event.Type]float64{event.BlackoutRecovered: 100, event.SilenceRecovered: 130}[e.Type]
			if complaint := since(want)(d); complaint != "" {
				t.Errorf("%s: %s", e.Type, complaint)
			}
		}
	}
}

func TestARecordingOfAnEarlierReleaseReplays(t *testing.T) {
	raw, err := os.ReadFile("testdata/recording_unversioned.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Scan()
	var header watch.RecordingHeader
	if err := json.Unmarshal(lines.Bytes(), &header); err != nil {
		t.Fatal(err)
	}
	if got := header.Rules.Thresholds; got[detector.Blackout] != 30*time.Second || got[detector.Silence] != 30*time.Second {
		t.Errorf("the thresholds are %v", got)
	}
	w, err := header.Watcher()
	if err != nil {
		t.Fatal(err)
	}
	emitted := ""
	for n := 2; lines.Scan(); n++ {
		var step watch.RecordedStep
		if err := json.Unmarshal(lines.Bytes(), &step); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		recorded, err := json.Marshal(step.Effects)
		if err != nil {
			t.Fatal(err)
		}
		effects := w.Step(step.At, step.Observation)
		now, err := json.Marshal(effects)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(recorded, now) && len(effects)+len(step.Effects) > 0 {
			t.Errorf("line %d: recorded %s, now %s", n, recorded, now)
		}
		for _, e := range effects {
			if e, ok := e.(watch.EventEmitted); ok {
				emitted += " " + string(e.Event.Type)
			}
		}
	}
	if want := " stream.started alert.blackout alert.blackout_recovered"; emitted != want {
		t.Errorf("emitted%s, want%s", emitted, want)
	}
}
