//go:build compose

package compose_test

import (
	"context"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// story plays the main job, from a stream that comes late to its end.
func (s *site) story(t *testing.T, video string) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	truth, err := s.PlayMainScenario(ctx, video, t.Logf)
	must(t, err)
	s.only(t, truth.MonitorID, "stream.delayed", "stream.started", "alert.blackout", "alert.blackout_recovered",
		"alert.silence", "alert.silence_recovered", "stream.ended")
	if t.Failed() {
		return
	}
	events := s.about(truth.MonitorID)
	near(t, "started_at of the blackout", events[2].Data.StartedAt, truth.BlackFrom)
	near(t, "recovered_at of the blackout", events[3].Data.RecoveredAt, truth.BlackUntil)
	near(t, "started_at of the silence", events[4].Data.StartedAt, truth.SilentFrom)
	near(t, "recovered_at of the silence", events[5].Data.RecoveredAt, truth.SilentUntil)
	near(t, "ended_at", events[6].Data.EndedAt, truth.EndedAt)
	inTime(t, truth.Stream, truth.BlackFrom, events[2])
	inTime(t, truth.Stream, truth.SilentFrom, events[4])
}

// lostWorker kills a monitor's worker, and no other process, in the middle of an
// alert.
func (s *site) lostWorker(t *testing.T, stream *livestream.Stream, id string, others ...string) {
	black := stream.Black(true)
	alert := s.arrives(t, id, "alert.blackout", 1, time.Minute)
	_, _, since := s.gateway(t)
	before := s.workers(t)
	for _, one := range append(others, id) {
		if before[one] == "" {
			t.Fatalf("%s has no worker: %v", one, before)
		}
	}
	died := time.Now()
	s.compose(t, "exec", "-T", "gateway", "bash", "-c", "kill -9 "+before[id])
	var after map[string]string
	eventually(t, again, "it has another worker", func() bool {
		after = s.workers(t)
		return after[id] != "" && after[id] != before[id]
	})
	s.watched(t, 2, again, id)
	t.Logf("it is watched again %.1f s after its worker was killed", time.Since(died).Seconds())
	for _, other := range others {
		if after[other] != before[other] {
			t.Errorf("the worker of another monitor was %s and is %s", before[other], after[other])
		}
	}
	if _, _, now := s.gateway(t); now != since {
		t.Errorf("the container was started at %s, and again at %s", since, now)
	}
	picture := stream.Black(false)
	back := s.arrives(t, id, "alert.blackout_recovered", 1, time.Minute)
	interrupted(t, alert, back, black, picture)
}

// interrupted holds an alert and its recovery, between which something was done
// to the system, against what happened.
func interrupted(t *testing.T, alert, back webhookreceiver.Delivery, onset, end time.Time) {
	t.Helper()
	near(t, "started_at", alert.Data.StartedAt, onset)
	near(t, "started_at of the recovery", back.Data.StartedAt, onset)
	near(t, "recovered_at", back.Data.RecoveredAt, end)
}

// near fails the test unless a time is that of the media.
func near(t *testing.T, what string, got, truth time.Time) {
	t.Helper()
	if off := got.Sub(truth); off.Abs() > exact {
		t.Errorf("%s is off by %s, more than %s", what, off, exact)
	}
}

// inTime fails the test when an alert was told later than promised.
func inTime(t *testing.T, stream *livestream.Stream, onset time.Time, alert webhookreceiver.Delivery) {
	t.Helper()
	latest := stream.Available(onset).Add(threshold + stream.SegmentDuration() + 2*time.Second)
	t.Logf("%s: told %s before the last moment promised", alert.EventType, latest.Sub(alert.Received))
	if alert.Received.After(latest) {
		t.Errorf("%s was told %s after the last moment promised", alert.EventType, alert.Received.Sub(latest))
	}
}
