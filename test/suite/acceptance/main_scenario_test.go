package acceptance_test

import (
	"testing"
	"time"
)

func TestTheMainScenario(t *testing.T) { // sections 4.3, 6, 7 and 8.4
	runTimeline(t, 1, 85*time.Second)
	env := startEnv(t) // with evidence, which must not delay an alert
	truth, err := env.PlayMainScenario(timeoutContext(t, 3*time.Minute), newVideoID(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	assertEvents(t, env, truth.MonitorID,
		"stream.delayed", "stream.started",
		"alert.blackout", "alert.blackout_recovered", "alert.silence", "alert.silence_recovered",
		"stream.ended")
	if t.Failed() {
		return
	}
	events := eventsOf(env, truth.MonitorID)
	segment := truth.Stream.SegmentDuration()

	delayed := events[0]
	if late := delayed.Received.Sub(truth.ScheduledStart); late < truth.StartDelayTolerance() || late > truth.StartDelayTolerance()+15*time.Second+busyMachine {
		t.Errorf("section 7.3: stream.delayed came %s after the scheduled start, tolerance %s", late, truth.StartDelayTolerance())
	}
	started := events[1]
	assertNear(t, "started_at", started.Data.StartedAt, truth.LiveAt, 2*time.Second)
	// 10 s between two polls, one that is under way when the stream starts, and yt-dlp.
	if late := started.Received.Sub(truth.LiveAt); late > 20*time.Second+busyMachine {
		t.Errorf("section 7.5: stream.started came %s after the start", late)
	}
	for i, c := range []struct {
		what      string
		from, to  time.Time
		onset     time.Time
		recovered time.Time
	}{
		{"black", truth.BlackFrom, truth.BlackUntil, events[2].Data.StartedAt, events[3].Data.RecoveredAt},
		{"silence", truth.SilentFrom, truth.SilentUntil, events[4].Data.StartedAt, events[5].Data.RecoveredAt},
	} {
		alert, back := events[2+2*i], events[3+2*i]
		assertNear(t, c.what+": started_at", c.onset, c.from, exactTolerance)
		assertNear(t, c.what+": recovered_at", c.recovered, c.to, exactTolerance)
		if !back.Data.StartedAt.Equal(alert.Data.StartedAt) {
			t.Errorf("%s: the recovery counts from %s, the alert from %s", c.what, back.Data.StartedAt, alert.Data.StartedAt)
		}
		latest := truth.Stream.Available(c.from).Add(truth.Threshold() + segment + 2*time.Second + busyMachine)
		if alert.Received.After(latest) {
			t.Errorf("%s: alerted %s after the promised moment", c.what, alert.Received.Sub(latest))
		}
		t.Logf("%s: alerted %s before the promised moment; started_at off by %s, recovered_at by %s", c.what,
			latest.Sub(alert.Received), c.onset.Sub(c.from), c.recovered.Sub(c.to))
		if got := time.Duration(alert.Data.DurationSec) * time.Second; got < truth.Threshold() || got > alert.Received.Sub(c.from) {
			t.Errorf("%s: duration_sec %s", c.what, got)
		}
		// The duration is in whole seconds, its two instants are in milliseconds.
		total, between := time.Duration(back.Data.TotalDurationSec)*time.Second, c.recovered.Sub(back.Data.StartedAt)
		if rest := between - total; rest < -2*time.Millisecond || rest > time.Second+2*time.Millisecond {
			t.Errorf("%s: total_duration_sec %s between instants %s apart", c.what, total, between)
		}
		if info := alert.Data.SegmentInfo; info == nil || info.Duration != segment.Seconds() {
			t.Errorf("%s: segment_info %+v", c.what, info)
		}
	}
	ended := events[6]
	assertNear(t, "ended_at", ended.Data.EndedAt, truth.EndedAt, exactTolerance)
	if ended.Data.Reason != "endlist" {
		t.Errorf("ended because of %q", ended.Data.Reason)
	}
	for _, e := range events {
		if string(e.Metadata) != `{"channel_name":"Example Channel"}` {
			t.Errorf("%s carries metadata %s", e.EventType, e.Metadata)
		}
	}

	m := waitStatus(t, env, truth.MonitorID, "completed", time.Second)
	stats, _ := m["statistics"].(map[string]any)
	if stats["blackout_events"] != 1.0 || stats["silence_events"] != 1.0 || m["stream_status"] != "ended" {
		t.Errorf("the monitor is %v", m)
	}
	t.Run("the incident and the evidence are recorded", func(t *testing.T) { // sections 16.1 and 16.2
		if err := env.CheckRecord(timeoutContext(t, time.Minute), truth, t.Logf); err != nil {
			t.Error(err)
		}
	})
	t.Run("the worker is gone", func(t *testing.T) { // 8.4
		waitNoWorker(t, env, truth.MonitorID)
	})
}

func TestInlineWorkersRecordTheMainScenario(t *testing.T) { // decision P2, sections 16.1 and 16.2
	runTimeline(t, 1, 85*time.Second)
	env := startEnv(t, "WORKER_RUNTIME=inline")
	truth, err := env.PlayMainScenario(timeoutContext(t, 3*time.Minute), newVideoID(), t.Logf)
	if err == nil {
		err = env.CheckRecord(timeoutContext(t, time.Minute), truth, t.Logf)
	}
	if err != nil {
		t.Error(err)
	}
}
