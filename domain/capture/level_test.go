package capture_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// analysed is the analysis of the newest segment when the media end at a time: a level a
// second, whose value is its time.
func analysed(end int) watch.Analysis {
	a := watch.Analysis{Segment: segments(end-2, end)[0].ID()}
	for s := range 2 {
		level := -float64(end - 2 + s)
		a.Measures = append(a.Measures, watch.Measure{At: time.Duration(s) * time.Second, Level: &level})
	}
	return a
}

// levelsOf watches from one time to another, and alerts a silence that began at second 100.
// It returns the levels of the job that completes the evidence.
func levelsOf(t *testing.T, from, alertAt int, threshold int64) capture.Job {
	t.Helper()
	var tracker capture.Tracker
	for now := from; now < alertAt+100; now += 2 {
		in := capture.Input{Observation: analysed(now), Media: playlist(now)}
		if now == alertAt {
			in.Events = []event.Event{{ID: "alert", Type: "alert.silence", Data: event.Alert{StartedAt: at(100), ThresholdSec: threshold}}}
		}
		for _, j := range tracker.Step(at(float64(now)), in) {
			switch {
			case j.Step == capture.Complete:
				return j
			case len(j.Levels) > 0:
				t.Errorf("the step %s has levels", j.Step)
			}
		}
	}
	t.Fatal("nothing completes the evidence")
	return capture.Job{}
}

func TestEvidenceHasTheLevelsOfTheMinuteBeforeTheAlert(t *testing.T) {
	for name, c := range map[string]struct {
		from, alert int
		threshold   int64
		first, last int // seconds
	}{
		"a threshold of 30 s":                 {4, 130, 30, 40, 129},
		"a threshold of 6 s":                  {4, 106, 6, 40, 129},
		"a threshold of 2 min":                {4, 220, 120, 40, 219},
		"the watch began 20 s before":         {82, 130, 30, 80, 129},
		"more than ten minutes are forgotten": {4, 1300, 1200, 700, 1299},
	} {
		t.Run(name, func(t *testing.T) {
			j := levelsOf(t, c.from, c.alert, c.threshold)
			var want []capture.Level
			for s := c.first; s <= c.last; s++ {
				want = append(want, capture.Level{At: at(float64(s)), DBFS: -float64(s)})
			}
			if !slices.Equal(j.Levels, want) {
				t.Errorf("got %v\nwant %v", j.Levels, want)
			}
		})
	}
}

func TestLevelsOfHostileTimestampsAreBounded(t *testing.T) {
	var tracker capture.Tracker
	level := -20.0
	hostile := watch.Analysis{Segment: segments(98, 100)[0].ID()}
	for _, at := range []time.Duration{-time.Second, 0, 1900 * time.Millisecond, 2 * time.Second, time.Hour} {
		hostile.Measures = append(hostile.Measures, watch.Measure{At: at, Level: &level})
	}
	hostile.Measures = append(hostile.Measures, watch.Measure{At: time.Second}) // no sound
	for range 3 {
		tracker.Step(at(100), capture.Input{Observation: hostile, Media: playlist(100)})
	}
	jobs := tracker.Step(at(102), capture.Input{Media: playlist(102), Events: recovery(90, 101)})
	want := []capture.Level{{At: at(98), DBFS: -20}, {At: at(99.9), DBFS: -20}}
	if len(jobs) != 1 || !slices.Equal(jobs[0].Levels, want) {
		t.Errorf("got %v, want %v", jobs, want)
	}

	// 5,000 levels at distinct times within one segment.
	for i := range 5000 {
		hostile.Measures = append(hostile.Measures, watch.Measure{At: time.Duration(i) * 10 * time.Microsecond, Level: &level})
	}
	tracker.Step(at(104), capture.Input{Observation: hostile, Media: playlist(104)})
	if jobs = tracker.Step(at(104), capture.Input{Media: playlist(104), Events: recovery(90, 101)}); len(jobs[0].Levels) != 600 {
		t.Errorf("%d levels are remembered", len(jobs[0].Levels))
	}
}
