package watch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

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

func TestASnapshotOfAnotherVersionIsRefused(t *testing.T) {
	for version, raw := range map[int]string{2: `{"version":2,"status":"monitoring"}`, 0: `{"status":"monitoring"}`} {
		_, err := watch.Restore(rules(), json.RawMessage(raw), at(0))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version is %d", version)) {
			t.Errorf("the error is %v", err)
		}
	}
}
