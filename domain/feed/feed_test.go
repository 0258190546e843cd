package feed_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

func TestOnlyAVisibleChangeChangesTheState(t *testing.T) {
	t.Parallel()
	watching := feed.Visible{Status: monitor.Monitoring, StreamStatus: monitor.StreamLive, Video: monitor.OK, Audio: monitor.OK}
	changed := func(change func(*feed.Visible)) feed.Visible { s := watching; change(&s); return s }
	judged := func(level float64, alerted bool) []monitor.DetectorState {
		return []monitor.DetectorState{{Detector: "freeze", State: "frozen", Since: noon, Alerted: alerted, Values: map[string]float64{"level": level}}}
	}
	seen := func(level float64, v feed.Visible) feed.Visible {
		v.Conditions = feed.Conditions(judged(level, false))
		return v
	}
	looked := func(at time.Time, state detector.RenditionState) []monitor.RenditionState {
		return []monitor.RenditionState{{Height: 720, State: state, LookedAt: at}}
	}
	listed := changed(func(s *feed.Visible) { s.Renditions = feed.Renditions(looked(noon, detector.RenditionOK)) })
	for _, c := range []struct {
		name   string
		before feed.Visible
		report monitor.Report
		want   feed.Visible
	}{
		{"an empty report", watching, monitor.Report{}, watching},
		{"a heartbeat", watching, monitor.Report{
			Status: monitor.Monitoring, StreamStatus: monitor.StreamLive, Statistics: monitor.Statistics{TotalSegmentsAnalyzed: 7},
			Health:     monitor.Health{Video: monitor.OK, Audio: monitor.OK, LastCheckAt: noon},
			Visibility: &monitor.Visibility{LastObservedAt: noon},
		}, watching},
		{"a black picture", watching, monitor.Report{Health: monitor.Health{Video: monitor.Black}}, changed(func(s *feed.Visible) { s.Video = monitor.Black })},
		{"silence", watching, monitor.Report{Health: monitor.Health{Audio: monitor.Silent}}, changed(func(s *feed.Visible) { s.Audio = monitor.Silent })},
		{"another value", seen(1, watching), monitor.Report{Health: monitor.Health{Video: monitor.OK, Conditions: judged(2, false)}}, seen(1, watching)},
		{"an alert of a hidden condition", seen(1, watching), monitor.Report{Health: monitor.Health{Video: monitor.OK, Conditions: judged(1, true)}},
			changed(func(s *feed.Visible) { s.Conditions = feed.Conditions(judged(1, true)) })},
		{"a report without health", seen(1, watching), monitor.Report{}, seen(1, watching)},
		{"the end of all optional detectors", seen(1, watching), monitor.Report{Health: monitor.Health{Video: monitor.OK}}, watching},
		{"another look at a rendition", listed, monitor.Report{Health: monitor.Health{Video: monitor.OK, Renditions: looked(noon.Add(time.Minute), detector.RenditionOK)}}, listed},
		{"another state of a rendition", listed, monitor.Report{Health: monitor.Health{Video: monitor.OK, Renditions: looked(noon, detector.RenditionGone)}},
			changed(func(s *feed.Visible) { s.Renditions = feed.Renditions(looked(noon, detector.RenditionGone)) })},
		{"a failure", watching, monitor.Report{Visibility: &monitor.Visibility{LastError: "no answer"}}, changed(func(s *feed.Visible) { s.LastError = "no answer" })},
		{"blindness", watching, monitor.Report{Visibility: &monitor.Visibility{BlindSince: noon}}, changed(func(s *feed.Visible) { s.Blind = true })},
		{"the end of a blind monitor", changed(func(s *feed.Visible) { s.Blind = true }), monitor.Report{Status: monitor.Failed}, changed(func(s *feed.Visible) { s.Status = monitor.Failed })},
		{"a status that cannot follow", watching, monitor.Report{Status: monitor.Waiting}, watching},
		{"the end of the stream", watching, monitor.Report{Status: monitor.Completed, StreamStatus: monitor.StreamEnded},
			changed(func(s *feed.Visible) { s.Status, s.StreamStatus = monitor.Completed, monitor.StreamEnded })},
	} {
		if got := c.before.After(c.report); got != c.want {
			t.Errorf("after %s the state is %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestDataOfAMonitorIsInUTCAndWithoutItsCallback(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("JST", 9*60*60)
	start := noon.In(tokyo)
	config := monitor.DefaultConfig()
	config.ScheduledStartTime = &start
	encoded, err := feed.Encode(feed.NewMonitor(monitor.Monitor{
		ID: "mon-1", StreamURL: "https://www.youtube.com/watch?v=1&t=2", CallbackURL: "https://example.com/secret", Config: config,
		Status: monitor.Waiting, CreatedAt: noon.In(tokyo), Revision: 3,
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		StreamURL string `json:"stream_url"`
		CreatedAt string `json:"created_at"`
		Config    struct {
			Start string `json:"scheduled_start_time"`
		} `json:"config"`
		Callback *string `json:"callback_url"`
		Revision int
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	const want = "2026-11-21T12:00:00.123Z"
	if got.CreatedAt != want || got.Config.Start != want || got.Callback != nil || got.Revision != 3 || string(got.Metadata) != "{}" || got.StreamURL != "https://www.youtube.com/watch?v=1&t=2" {
		t.Errorf("the data is %s, want times %s, {} as metadata, the URL and no callback", encoded, want)
	}
	if start.Location() != tokyo {
		t.Error("the monitor's own time was changed")
	}
}
