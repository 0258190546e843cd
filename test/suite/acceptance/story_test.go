package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

const exact = 500 * time.Millisecond // of instants that come from the media

// TestTheMainJob has the machine to itself: what it promises is measured in
// fractions of a second.
func TestTheMainJob(t *testing.T) {
	truth, err := common.PlayMainScenario(limited(t, 3*time.Minute), video(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	only(t, common, truth.MonitorID,
		"stream.delayed", "stream.started",
		"alert.blackout", "alert.blackout_recovered", "alert.silence", "alert.silence_recovered",
		"stream.ended")
	if t.Failed() {
		return
	}
	events := about(common, truth.MonitorID)
	segment := truth.Stream.SegmentDuration()

	delayed := events[0]
	if late := delayed.Received.Sub(truth.ScheduledStart); late < truth.StartDelayTolerance() || late > truth.StartDelayTolerance()+15*time.Second {
		t.Errorf("7.3: told %s after the scheduled start, tolerance %s", late, truth.StartDelayTolerance())
	}
	started := events[1]
	near(t, "started_at", started.Data.StartedAt, truth.LiveAt, 2*time.Second)
	if late := started.Received.Sub(truth.LiveAt); late > 15*time.Second {
		t.Errorf("7.5: the start was told %s after it", late)
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
		near(t, c.what+": started_at", c.onset, c.from, exact)
		near(t, c.what+": recovered_at", c.recovered, c.to, exact)
		if !back.Data.StartedAt.Equal(alert.Data.StartedAt) {
			t.Errorf("%s: the recovery counts from %s, the alert from %s", c.what, back.Data.StartedAt, alert.Data.StartedAt)
		}
		latest := truth.Stream.Available(c.from).Add(truth.Threshold() + segment + 2*time.Second)
		if alert.Received.After(latest) {
			t.Errorf("%s: told %s after the last moment promised", c.what, alert.Received.Sub(latest))
		}
		t.Logf("%s: told %s before the last moment promised; started_at off by %s, recovered_at by %s", c.what,
			latest.Sub(alert.Received), c.onset.Sub(c.from), c.recovered.Sub(c.to))
		if got := time.Duration(alert.Data.DurationSec) * time.Second; got < truth.Threshold() || got > alert.Received.Sub(c.from) {
			t.Errorf("%s: duration_sec %s", c.what, got)
		}
		// Whole seconds between its own two instants, which are told in milliseconds.
		total, between := time.Duration(back.Data.TotalDurationSec)*time.Second, c.recovered.Sub(back.Data.StartedAt)
		if rest := between - total; rest < -2*time.Millisecond || rest > time.Second+2*time.Millisecond {
			t.Errorf("%s: total_duration_sec %s between instants %s apart", c.what, total, between)
		}
		if info := alert.Data.SegmentInfo; info == nil || info.Duration != segment.Seconds() {
			t.Errorf("%s: segment_info %+v", c.what, info)
		}
	}
	ended := events[6]
	near(t, "ended_at", ended.Data.EndedAt, truth.EndedAt, exact)
	if ended.Data.Reason != "endlist" {
		t.Errorf("ended because of %q", ended.Data.Reason)
	}
	for _, e := range events {
		if string(e.Metadata) != `{"channel_name":"Example Channel"}` {
			t.Errorf("%s carries metadata %s", e.EventType, e.Metadata)
		}
	}

	m := becomes(t, common, truth.MonitorID, "completed", time.Second)
	stats, _ := m["statistics"].(map[string]any)
	if stats["blackout_events"] != 1.0 || stats["silence_events"] != 1.0 || m["stream_status"] != "ended" {
		t.Errorf("the monitor is %v", m)
	}
	t.Run("and its worker is gone", func(t *testing.T) { // 8.4
		gone(t, common, truth.MonitorID)
	})
}

// gone waits until a monitor has no worker any more.
func gone(t *testing.T, s *testenv.Env, id string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		left := 0
		for _, p := range s.Service.Workers() {
			if p.Env("MONITOR_ID") == id {
				left = p.PID
			}
		}
		switch {
		case left == 0:
			return
		case time.Now().After(deadline):
			t.Fatalf("worker %d is still there", left)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
