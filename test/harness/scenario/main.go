package scenario

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// PlayMain plays the main scenario (testenv.Env.PlayMainScenario). It compares events, incident,
// evidence and history with what the stream did (sections 4.3, 6, 7, 8.4, 16.1 to 16.3).
func (e *Env) PlayMain(t *testing.T) {
	t.Helper()
	truth, err := e.PlayMainScenario(e.Limit(t, 3*time.Minute), youtube.NewVideoID(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	e.AssertEvents(t, truth.MonitorID, "stream.delayed", Started, Blackout, BlackoutRecovered, "alert.silence", "alert.silence_recovered", Ended)
	if t.Failed() {
		return
	}
	events := e.Events(truth.MonitorID)
	if late := events[0].Received.Sub(truth.ScheduledStart); late < truth.StartDelayTolerance() || late > truth.StartDelayTolerance()+15*time.Second+e.Patience {
		t.Errorf("section 7.3: stream.delayed came %s after the scheduled start, tolerance %s", late, truth.StartDelayTolerance())
	}
	AssertNear(t, "started_at", events[1].Data.StartedAt, truth.LiveAt, 2*time.Second)
	// 10 s between two polls, one that is under way when the stream starts, and yt-dlp.
	if late := events[1].Received.Sub(truth.LiveAt); late > 20*time.Second+e.Patience {
		t.Errorf("section 7.5: stream.started came %s after the start", late)
	}
	e.assertCondition(t, truth, "black", events[2], events[3], truth.BlackFrom, truth.BlackUntil)
	e.assertCondition(t, truth, "silence", events[4], events[5], truth.SilentFrom, truth.SilentUntil)
	AssertNear(t, "ended_at", events[6].Data.EndedAt, truth.EndedAt, ExactTolerance)
	if events[6].Data.Reason != "endlist" {
		t.Errorf("ended because of %q", events[6].Data.Reason)
	}
	for _, d := range events {
		if string(d.Metadata) != `{"channel_name":"Example Channel"}` {
			t.Errorf("%s carries metadata %s", d.EventType, d.Metadata)
		}
	}
	m := e.WaitStatus(t, truth.MonitorID, "completed", 5*time.Second)
	stats, _ := m["statistics"].(map[string]any)
	if stats["blackout_events"] != 1.0 || stats["silence_events"] != 1.0 || m["stream_status"] != "ended" {
		t.Errorf("the monitor is %v", m)
	}
	if err := e.CheckRecord(e.Limit(t, time.Minute), truth, t.Logf); err != nil {
		t.Error(err)
	}
	e.WaitNoWorker(t, truth.MonitorID)
}

// assertCondition compares an alert and its recovery with the time for which the condition lasted.
func (e *Env) assertCondition(t *testing.T, truth testenv.GroundTruth, what string, alert, back webhookreceiver.Delivery, from, to time.Time) {
	t.Helper()
	AssertNear(t, what+": started_at", alert.Data.StartedAt, from, ExactTolerance)
	AssertNear(t, what+": recovered_at", back.Data.RecoveredAt, to, ExactTolerance)
	if !back.Data.StartedAt.Equal(alert.Data.StartedAt) {
		t.Errorf("%s: the recovery counts from %s, the alert from %s", what, back.Data.StartedAt, alert.Data.StartedAt)
	}
	e.assertInTime(t, what, truth.Stream, alert, from, truth.Threshold())
	if got := time.Duration(alert.Data.DurationSec) * time.Second; got < truth.Threshold() || got > alert.Received.Sub(from) {
		t.Errorf("%s: duration_sec %s", what, got)
	}
	// The duration is in whole seconds, its two instants are in milliseconds.
	total, between := time.Duration(back.Data.TotalDurationSec)*time.Second, back.Data.RecoveredAt.Sub(back.Data.StartedAt)
	if rest := between - total; rest < -2*time.Millisecond || rest > time.Second+2*time.Millisecond {
		t.Errorf("%s: total_duration_sec %s between instants %s apart", what, total, between)
	}
	if info := alert.Data.SegmentInfo; info == nil || info.Duration != truth.Stream.SegmentDuration().Seconds() {
		t.Errorf("%s: segment_info %+v", what, info)
	}
}

// assertInTime asserts that an alert came when it was promised: its threshold, a segment and
// 2 s after the condition could be seen.
func (e *Env) assertInTime(t *testing.T, what string, stream *livestream.Stream, alert webhookreceiver.Delivery, from time.Time, threshold time.Duration) {
	t.Helper()
	due := stream.Available(from).Add(threshold + stream.SegmentDuration() + 2*time.Second)
	late := alert.Received.Sub(due)
	if t.Logf("%s: alerted %.1f s after it was due", what, late.Seconds()); late > e.Patience {
		t.Errorf("%s: alerted %s after it was due", what, late)
	}
}
