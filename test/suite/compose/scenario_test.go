//go:build compose

package compose_test

import (
	"context"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// playMainScenario plays the main scenario and compares the events with what the
// stream did.
func (s *deployment) playMainScenario(t *testing.T, video string) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	truth, err := s.PlayMainScenario(ctx, video, t.Logf)
	must(t, err)
	s.expectEvents(t, truth.MonitorID, "stream.delayed", "stream.started", "alert.blackout", "alert.blackout_recovered",
		"alert.silence", "alert.silence_recovered", "stream.ended")
	if t.Failed() {
		return
	}
	events := s.eventsOf(truth.MonitorID)
	expectInstant(t, "started_at of the blackout", events[2].Data.StartedAt, truth.BlackFrom)
	expectInstant(t, "recovered_at of the blackout", events[3].Data.RecoveredAt, truth.BlackUntil)
	expectInstant(t, "started_at of the silence", events[4].Data.StartedAt, truth.SilentFrom)
	expectInstant(t, "recovered_at of the silence", events[5].Data.RecoveredAt, truth.SilentUntil)
	expectInstant(t, "ended_at", events[6].Data.EndedAt, truth.EndedAt)
	expectInTime(t, truth.Stream, truth.BlackFrom, events[2])
	expectInTime(t, truth.Stream, truth.SilentFrom, events[4])
	must(t, s.CheckRecord(ctx, truth, t.Logf))
}

// lostWorker kills one monitor's worker during an alert.
func (s *deployment) lostWorker(t *testing.T, stream *livestream.Stream, id string, others ...string) {
	black := stream.Black(true)
	alert := s.waitForEvent(t, id, "alert.blackout", 1, time.Minute)
	_, _, startedAt := s.gatewayContainer(t)
	before := s.workerProcesses(t)
	for _, each := range append(others, id) {
		if before[each] == "" {
			t.Fatalf("monitor %s has no worker: %v", each, before)
		}
	}
	killed := time.Now()
	s.compose(t, "exec", "-T", "gateway", "bash", "-c", "kill -9 "+before[id])
	var after map[string]string
	waitFor(t, recoveryTimeout, "another worker", func() bool {
		after = s.workerProcesses(t)
		return after[id] != "" && after[id] != before[id]
	})
	s.waitUntilWatched(t, 2, recoveryTimeout, id)
	t.Logf("the monitor is watched again %.1f s after its worker was killed", time.Since(killed).Seconds())
	for _, other := range others {
		if after[other] != before[other] {
			t.Errorf("the worker of another monitor was %s and is %s", before[other], after[other])
		}
	}
	if _, _, now := s.gatewayContainer(t); now != startedAt {
		t.Errorf("the container started at %s was restarted at %s", startedAt, now)
	}
	picture := stream.Black(false)
	recovery := s.waitForEvent(t, id, "alert.blackout_recovered", 1, time.Minute)
	expectUninterruptedAlert(t, alert, recovery, black, picture)
}

// expectUninterruptedAlert compares an alert and its recovery with what the stream
// did, although the system was disrupted between them.
func expectUninterruptedAlert(t *testing.T, alert, recovery webhookreceiver.Delivery, onset, end time.Time) {
	t.Helper()
	expectInstant(t, "started_at", alert.Data.StartedAt, onset)
	expectInstant(t, "started_at of the recovery", recovery.Data.StartedAt, onset)
	expectInstant(t, "recovered_at", recovery.Data.RecoveredAt, end)
}

// expectInstant fails the test unless got is within mediaTolerance of truth.
func expectInstant(t *testing.T, what string, got, truth time.Time) {
	t.Helper()
	if off := got.Sub(truth); off.Abs() > mediaTolerance {
		t.Errorf("%s is off by %s, more than %s", what, off, mediaTolerance)
	}
}

// expectInTime fails the test when an alert came after its deadline.
func expectInTime(t *testing.T, stream *livestream.Stream, onset time.Time, alert webhookreceiver.Delivery) {
	t.Helper()
	latest := stream.Available(onset).Add(alertThreshold + stream.SegmentDuration() + 2*time.Second)
	t.Logf("%s came %s before its deadline", alert.EventType, latest.Sub(alert.Received))
	if alert.Received.After(latest) {
		t.Errorf("%s came %s after its deadline", alert.EventType, alert.Received.Sub(latest))
	}
}
