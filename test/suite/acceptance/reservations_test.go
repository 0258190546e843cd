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
func workerGenerations(env *testenv.Env, id string) (generations []string) {
	for _, p := range env.Service.Workers() {
		if p.Env("MONITOR_ID") == id {
			generations = append(generations, p.Env("GENERATION"))
		}
	}
	return generations
}

// assertNoWorker fails the test unless a reservation waits without a worker.
func assertNoWorker(t *testing.T, env *testenv.Env, id string) {
	t.Helper()
	m, err := env.Service.Monitor(t.Context(), id)
	if err != nil || m["status"] != "waiting" || m["stream_status"] != "upcoming" {
		t.Errorf("the reservation is %v, %v", m, err)
	}
	if workers := workerGenerations(env, id); len(workers) != 0 {
		t.Errorf("it has workers already: %v", workers)
	}
}

func TestAReservationIsPromotedOnTimeAfterARestart(t *testing.T) { // decision A10
	runTimeline(t, 1, 40*time.Second)
	const lead, ahead = 5 * time.Second, 12 * time.Second
	settings := []string{"SCHEDULE_LEAD_TIME=" + lead.String()}
	env := startEnv(t, settings...)
	v := newVideoID()
	env.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	start := time.Now().Add(ahead)
	due := start.Add(-lead)
	id := register(t, env, v, fastConfig("scheduled_start_time", start.Format(time.RFC3339Nano)))
	assertNoWorker(t, env, id)

	if err := env.Restart(t.Context(), testenv.Config{Binary: binary, Env: settings}); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	if back.Before(due.Add(-time.Second)) {
		assertNoWorker(t, env, id)
	} else {
		t.Logf("the restart ended only %s before it was due", due.Sub(back))
	}
	line, err := env.Service.WaitLog(timeoutContext(t, 30*time.Second), func(l system.Line) bool {
		return l.MonitorID == id && l.Message == "reservation promoted"
	})
	if err != nil {
		t.Fatal(err)
	}
	latest := due
	if back.After(due) {
		latest = back
	}
	if line.Timestamp.Before(due.Add(-100*time.Millisecond)) || line.Timestamp.After(latest.Add(2*time.Second+busyMachine)) {
		t.Errorf("promoted %s after it was due", line.Timestamp.Sub(due))
	}
	t.Logf("promoted %s after it was due", line.Timestamp.Sub(due))
	eventually(t, 10*time.Second, "a worker", func() bool { return len(workerGenerations(env, id)) == 1 })

	stream, err := env.Library.Start(t.Context(), livestream.Config{Preroll: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	sleep(t.Context(), time.Until(start)) // when it was to start
	env.YouTube.Broadcast(v, stream)
	waitEvent(t, env, id, "stream.started", startTimeout)
	stream.End()
	waitEvent(t, env, id, "stream.ended", 60*time.Second)
	assertEvents(t, env, id, "stream.started", "stream.ended")
}

func TestAStoppedReservationIsNeverPromoted(t *testing.T) { // section 3.2, decision A10
	runTimeline(t, 1, 20*time.Second)
	const lead = 5 * time.Second
	env := startEnv(t, "SCHEDULE_LEAD_TIME="+lead.String())
	v := newVideoID()
	env.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	start := time.Now().Add(lead + 4*time.Second)
	id := register(t, env, v, fastConfig("scheduled_start_time", start.Format(time.RFC3339Nano)))
	a, err := env.Service.Call(t.Context(), "DELETE", "/api/v1/monitors/"+id, nil)
	if err != nil || a.Status != 200 || a.Body["status"] != "stopped" {
		t.Fatalf("stopping: %v %v", a, err)
	}
	sleep(t.Context(), time.Until(start))
	// A worker that was launched would have been turned away, but is in the log.
	for _, l := range env.Service.Log() {
		if l.MonitorID == id && l.Component == "process" {
			t.Errorf("it got a worker: %s", l.Raw)
		}
	}
	if n := env.YouTube.Count(youtube.Watch, v); n != 0 {
		t.Errorf("YouTube was asked %d times", n)
	}
	assertEvents(t, env, id)
}

func TestAReservationThatExpiredWhileNoGatewayRanIsAnError(t *testing.T) { // decision A10
	runTimeline(t, 1, 40*time.Second)
	settings := []string{"SCHEDULE_LEAD_TIME=1s"}
	env := startEnv(t, settings...)
	v := newVideoID()
	env.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	start := time.Now().Add(20 * time.Second) // long enough for a busy machine to register and to stop
	end := start.Add(time.Second)
	id := register(t, env, v, map[string]any{
		"scheduled_start_time": start.Format(time.RFC3339Nano), "scheduled_end_time": end.Format(time.RFC3339Nano),
		"start_delay_tolerance_sec": 0,
	})
	assertNoWorker(t, env, id)
	if err := env.Service.Stop(); err != nil {
		t.Fatal(err)
	}
	sleep(t.Context(), time.Until(end)+time.Second)
	if err := env.Restart(t.Context(), testenv.Config{Binary: binary, Env: settings}); err != nil {
		t.Fatal(err)
	}
	e := waitEvent(t, env, id, "monitor.error", 60*time.Second)
	if e.Data.Reason != "reservation_expired" || !e.Data.Terminal {
		t.Errorf("reason %q, terminal %v", e.Data.Reason, e.Data.Terminal)
	}
	waitStatus(t, env, id, "error", 5*time.Second)
	waitNoWorker(t, env, id)
	assertEvents(t, env, id, "monitor.error")
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
