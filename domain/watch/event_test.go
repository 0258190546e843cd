package watch_test

import (
	"reflect"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// TestEventsCarryTheDataOfTheSpecification compares whole data objects.
func TestEventsCarryTheDataOfTheSpecification(t *testing.T) { // 4.2, 4.3, W7
	scheduled := at(40)
	second := int64(20)
	for name, c := range map[string]struct {
		change func(*world)
		from   float64
		until  float64
		want   []event.Data
	}{
		"a late start, a blackout, the end": {
			change: func(w *world) {
				w.live = span{60, 200}
				w.rules.ScheduledStart, w.rules.StartTolerance, w.rules.Thresholds[detector.Blackout] = scheduled, seconds(5), seconds(12)
				w.taskTime[watch.TaskResolve] = 2
				w.black, w.endlist = []span{{100, 125}}, true
			},
			from: 35, until: 300,
			want: []event.Data{
				event.Delayed{ScheduledStartTime: scheduled, DelaySec: 7, ToleranceSec: 5},
				event.Started{StartedAt: at(60), DetectedAt: at(71), ScheduledStartTime: &scheduled, DelaySec: &second},
				event.Alert{StartedAt: at(100), DurationSec: 12, ThresholdSec: 12, SegmentInfo: event.SegmentInfo{Sequence: 55, Duration: 2}},
				event.Recovered{StartedAt: at(100), RecoveredAt: at(125), TotalDurationSec: 25},
				event.Ended{EndedAt: at(200), Reason: event.EndedByEndlist, DurationSec: 140},
			},
		},
		"a start before its time": {
			change: func(w *world) { w.rules.ScheduledStart = at(600) },
			from:   100, until: 150,
			want: []event.Data{event.Started{StartedAt: at(0), DetectedAt: at(100), ScheduledStartTime: new(at(600)), DelaySec: new(int64)}},
		},
		"a start that YouTube dates in the future": {
			change: func(w *world) { w.changeAnswer = func(r *watch.Resolution) { r.ActualStart = at(1000) } },
			from:   100, until: 150,
			want: []event.Data{event.Started{StartedAt: at(100), DetectedAt: at(100)}},
		},
		"an outage": {
			change: func(w *world) { w.segmentsFail = []span{{195, never}} },
			from:   100, until: 300,
			want: []event.Data{
				event.Started{StartedAt: at(0), DetectedAt: at(100)},
				event.Outage{StartedAt: at(200), DurationSec: 60, ThresholdSec: 60, Failure: event.FailedSegment, LastError: "network: no segment"},
			},
		},
		"a stream that ends before it was seen": {
			change: func(w *world) { w.live = span{-500, 50} },
			from:   100, until: 150,
			want: []event.Data{event.Ended{EndedAt: at(100), Reason: event.EndedByNotLive}},
		},
		"a video that is private": {
			change: func(w *world) { w.answers = map[span]watch.StreamState{{0, never}: watch.Private} },
			from:   100, until: 150,
			want: []event.Data{event.MonitorFailure{Reason: event.ReasonVideoPrivate, ErrorDetails: "as the scenario says", Terminal: true}},
		},
		"nothing to learn": {
			change: func(w *world) { w.unanswered = []span{{0, never}} },
			from:   0, until: 800,
			want: []event.Data{event.MonitorFailure{
				Reason:       event.ReasonBlind,
				ErrorDetails: "nothing could be learned of the stream or its media for 300 seconds: unreachable: no answer",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, c.change).from(c.from).until(c.until)
			var got []event.Data
			for _, e := range w.events {
				got = append(got, e.Data)
				if !e.At.Equal(at(e.at)) {
					t.Errorf("%s at %v is dated %v", e.Type, e.at, sec(e.At))
				}
			}
			for i := range max(len(got), len(c.want)) {
				switch {
				case i >= len(c.want):
					t.Errorf("unexpected %+v", got[i])
				case i >= len(got):
					t.Errorf("missing %+v", c.want[i])
				case !reflect.DeepEqual(got[i], c.want[i]):
					t.Errorf("got  %+v\nwant %+v", got[i], c.want[i])
				}
			}
		})
	}
}
