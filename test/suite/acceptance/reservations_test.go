package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// workerGenerations returns the generations of a monitor's workers.
func workerGenerations(s *testenv.Env, id string) (generations []string) {
	for _, p := range s.Service.Workers() {
		if p.Env("MONITOR_ID") == id {
			generations = append(generations, p.Env("GENERATION"))
		}
	}
	return generations
}

// idle fails the test unless a reservation waits without a worker.
func assertNoWorker(t *testing.T, s *testenv.Env, id string) {
	t.Helper()
	m, err := s.Service.Monitor(t.Context(), id)
	if err != nil || m["status"] != "waiting" || m["stream_status"] != "upcoming" {
		t.Errorf("the reservation is %v, %v", m, err)
	}
	if workers := workerGenerations(s, id); len(workers) != 0 {
		t.Errorf("it has workers already: %v", workers)
	}
}

func TestAReservationIsPromotedOnTimeAfterARestart(t *testing.T) { // decision A10
	runQuietTimeline(t, 1, 40*time.Second)
	const lead, ahead = 5 * time.Second, 12 * time.Second
	env := []string{"SCHEDULE_LEAD_TIME=" + lead.String()}
	s := startEnv(t, env...)
	v := newVideoID()
	s.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	start := time.Now().Add(ahead)
	due := start.Add(-lead)
	id := register(t, s, v, fastConfig("scheduled_start_time", start.Format(time.RFC3339Nano)))
	assertNoWorker(t, s, id)

	if err := s.Restart(t.Context(), testenv.Config{Binary: binary, Env: env}); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	if back.Before(due.Add(-time.Second)) {
		assertNoWorker(t, s, id)
	} else {
		t.Logf("the restart ended only %s before it was due", due.Sub(back))
	}
	line, err := s.Service.WaitLog(timeoutContext(t, 30*time.Second), func(l system.Line) bool {
		return l.MonitorID == id && l.Message == "reservation promoted"
	})
	if err != nil {
		t.Fatal(err)
	}
	latest := due
	if back.After(due) {
		latest = back
	}
	if line.Timestamp.Before(due.Add(-100*time.Millisecond)) || line.Timestamp.After(latest.Add(2*time.Second)) {
		t.Errorf("promoted %s after it was due", line.Timestamp.Sub(due))
	}
	t.Logf("promoted %s after it was due", line.Timestamp.Sub(due))
	eventually(t, 10*time.Second, "a worker", func() bool { return len(workerGenerations(s, id)) == 1 })

	stream, err := s.Library.Start(t.Context(), livestream.Config{Preroll: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	sleep(t.Context(), time.Until(start)) // when it was to start
	s.YouTube.Broadcast(v, stream)
	waitEvent(t, s, id, "stream.started", 60*time.Second)
	stream.End()
	waitEvent(t, s, id, "stream.ended", 60*time.Second)
	assertEvents(t, s, id, "stream.started", "stream.ended")
}

func TestAStoppedReservationIsNeverPromoted(t *testing.T) { // section 3.2, decision A10
	runTimeline(t, 1, 20*time.Second)
	const lead = 5 * time.Second
	s := startEnv(t, "SCHEDULE_LEAD_TIME="+lead.String())
	v := newVideoID()
	s.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	start := time.Now().Add(lead + 4*time.Second)
	id := register(t, s, v, fastConfig("scheduled_start_time", start.Format(time.RFC3339Nano)))
	a, err := s.Service.Call(t.Context(), "DELETE", "/api/v1/monitors/"+id, nil)
	if err != nil || a.Status != 200 || a.Body["status"] != "stopped" {
		t.Fatalf("stopping: %v %v", a, err)
	}
	sleep(t.Context(), time.Until(start))
	// A worker that was launched would have been turned away, but is in the log.
	for _, l := range s.Service.Log() {
		if l.MonitorID == id && l.Component == "process" {
			t.Errorf("it got a worker: %s", l.Raw)
		}
	}
	if n := s.YouTube.Count(youtube.Watch, v); n != 0 {
		t.Errorf("YouTube was asked %d times", n)
	}
	assertEvents(t, s, id)
}

func TestAReservationThatExpiredWhileNoGatewayRanIsAnError(t *testing.T) { // decision A10
	runTimeline(t, 1, 25*time.Second)
	env := []string{"SCHEDULE_LEAD_TIME=1s"}
	s := startEnv(t, env...)
	v := newVideoID()
	s.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	start := time.Now().Add(8 * time.Second)
	end := start.Add(time.Second)
	id := register(t, s, v, map[string]any{
		"scheduled_start_time": start.Format(time.RFC3339Nano), "scheduled_end_time": end.Format(time.RFC3339Nano),
		"start_delay_tolerance_sec": 0,
	})
	assertNoWorker(t, s, id)
	if err := s.Service.Stop(); err != nil {
		t.Fatal(err)
	}
	sleep(t.Context(), time.Until(end)+time.Second)
	if err := s.Restart(t.Context(), testenv.Config{Binary: binary, Env: env}); err != nil {
		t.Fatal(err)
	}
	e := waitEvent(t, s, id, "monitor.error", 60*time.Second)
	if e.Data.Reason != "reservation_expired" || !e.Data.Terminal {
		t.Errorf("reason %q, terminal %v", e.Data.Reason, e.Data.Terminal)
	}
	waitStatus(t, s, id, "error", 5*time.Second)
	waitNoWorker(t, s, id)
	assertEvents(t, s, id, "monitor.error")
}

func TestTwoGatewaysPromoteEachReservationOnce(t *testing.T) { // decisions A10, O5
	runTimeline(t, 4, 20*time.Second)
	const number, lead = 12, time.Second
	both := startGateways(t, 2, "SCHEDULE_LEAD_TIME="+lead.String())
	start := time.Now().Add(5 * time.Second)
	for i := range number {
		_, err := both[i%2].Register(t.Context(), "https://www.youtube.com/watch?v="+newVideoID(), callback,
			map[string]any{"scheduled_start_time": start.Format(time.RFC3339Nano)})
		if err != nil {
			t.Fatal(err)
		}
	}
	promoted := func() map[string]int {
		times := map[string]int{}
		for _, s := range both {
			for _, l := range s.Log() {
				if l.Message == "reservation promoted" {
					times[l.MonitorID]++
				}
			}
		}
		return times
	}
	eventually(t, 30*time.Second, "all are promoted", func() bool { return len(promoted()) == number })
	sleep(t.Context(), 2*time.Second) // a second promotion would come now
	workers := 0
	for _, s := range both {
		workers += len(s.Workers())
	}
	for id, n := range promoted() {
		if n != 1 {
			t.Errorf("%s was promoted %d times", id, n)
		}
	}
	if workers != number {
		t.Errorf("%d workers for %d reservations", workers, number)
	}
}
