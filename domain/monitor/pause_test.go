package monitor_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// TestAPauseEndsAtAnInstant shows that a change of summer time changes no pause. The offset makes each hour one instant, also one
// that is skipped or comes twice.
func TestAPauseEndsAtAnInstant(t *testing.T) { // section 16.9
	for _, c := range []struct {
		name, now, until string
		accepted         bool
	}{
		{"now", "2026-07-01T12:00:00Z", "2026-07-01T12:00:00Z", false},
		{"a moment later", "2026-07-01T12:00:00Z", "2026-07-01T12:00:00.001Z", true},
		{"168 hours", "2026-07-01T12:00:00Z", "2026-07-08T12:00:00Z", true},
		{"a moment more", "2026-07-01T12:00:00Z", "2026-07-08T12:00:00.001Z", false},
		{"Berlin, the second 02:30", "2026-10-25T02:45:00+02:00", "2026-10-25T02:30:00+01:00", true},
		{"Berlin, the first 02:30 from the second on", "2026-10-25T02:15:00+01:00", "2026-10-25T02:30:00+02:00", false},
		{"Berlin, a week with an hour more", "2026-10-24T05:00:00+02:00", "2026-10-31T05:00:00+01:00", false},
		{"New York, a week with an hour less", "2026-03-07T05:00:00-05:00", "2026-03-14T05:00:00-04:00", true},
		{"Lord Howe, half an hour more", "2026-04-04T05:00:00+11:00", "2026-04-11T04:30:00+10:30", true},
		{"Cairo, until a midnight that is skipped, by the offset of before", "2026-04-23T23:59:00+02:00", "2026-04-24T00:00:00+02:00", true},
		{"Tokyo", "2026-10-25T05:00:00+09:00", "2026-11-01T05:00:00+09:00", true},
	} {
		parse := func(text string) time.Time {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		if err := monitor.CheckPause(parse(c.until), parse(c.now)); (err == nil) != c.accepted || err != nil && monitor.FieldOf(err) != "paused_until" {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestOnlyLifeCountsInAPause shows what counts of a report whose worker had not heard of the pause, or has made events before it.
func TestOnlyLifeCountsInAPause(t *testing.T) { // section 16.9
	noon := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	all := []event.Event{
		{Type: event.StreamStarted, Data: event.Started{}}, {Type: event.Blackout, Data: event.Alert{}}, {Type: event.BlackoutRecovered, Data: event.Recovered{}},
		{Type: event.SegmentError, Data: event.Outage{}}, {Type: event.StreamDelayed, Data: event.Delayed{}},
		{Type: event.MonitorError, Data: event.MonitorFailure{Reason: event.ReasonBlind}}, {Type: event.MonitorError, Data: event.MonitorFailure{Terminal: true}},
		{Type: event.StreamEnded, Data: event.Ended{}},
	}
	for i := range all {
		all[i].At = noon
	}
	sent := monitor.Report{At: noon, Status: monitor.Monitoring, StreamStatus: monitor.StreamLive, Events: all, Snapshot: []byte("{}"),
		Health:     monitor.Health{Video: monitor.Black, Audio: monitor.Silent, LastCheckAt: noon},
		Visibility: &monitor.Visibility{BlindSince: noon, LastError: "x", LastObservedAt: noon}, Signals: []monitor.Signal{{Condition: trouble.NoMedia, StartedAt: noon}}}
	r := sent.InPause(noon)
	if r := sent.InPause(noon.Add(time.Millisecond)); len(r.Events) != len(all) || r.Health.Video != monitor.Unknown || len(r.Signals) > 0 {
		t.Errorf("of a report from before count %+v", r)
	}
	var kept []event.Type
	for _, e := range r.Events {
		kept = append(kept, e.Type)
	}
	if want := []event.Type{event.StreamStarted, event.MonitorError, event.StreamEnded}; !slices.Equal(kept, want) || len(sent.Events) != len(all) {
		t.Errorf("kept are %v, want %v", kept, want)
	}
	if h := r.Health; !r.Paused || h.Video != monitor.Unknown || h.Audio != monitor.Unknown || h.LastCheckAt != noon || *r.Visibility != (monitor.Visibility{LastObservedAt: noon}) ||
		len(r.Signals) > 0 || r.Status != monitor.Monitoring || r.StreamStatus != monitor.StreamLive || string(r.Snapshot) != "{}" || sent.Visibility.LastError != "x" {
		t.Errorf("the report is %+v, %+v", r, r.Visibility)
	}
	sent.Health.Video = monitor.NoTrack
	if video := sent.InPause(noon).Health.Video; video != monitor.NoTrack {
		t.Errorf("a stream without a picture has %s", video)
	}
}
