package acceptance_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// How far an instant that comes from the media may be off. It is exact to some pictures where
// every segment is looked at. When checks are late, or the watcher has changed to other URLs,
// the one in which the picture changes may be left out, and one of the next two is taken, up to
// 4 s later. The shortest threshold is 6 s: that is how late an alert's own time would be.
const (
	exactTolerance = 500 * time.Millisecond
	mediaTolerance = exactTolerance + 4*time.Second
)

// busyMachine is how much later than on an idle machine something may happen. A dozen
// timelines, runs of yt-dlp that each need seconds of CPU time, and other tests share the
// cores. Every wait has this time in addition, and so has whatever is to happen soon
// enough. That finds what does not happen at all, or only when something else comes to its
// help; the exact times are asserted in virtual time, by the tests of domain and
// application. Nothing may come too early, and nothing twice.
const busyMachine = 45 * time.Second

// startTimeout is how long the report of a stream's start may take. Many streams
// may start at once, and each needs a run of yt-dlp.
const startTimeout = 2 * time.Minute

// starts holds one for each gateway that is being started. A start takes seconds of CPU time, so few at once are over sooner.
var starts = make(chan struct{}, 2)

// startEnv starts a gateway with its surroundings for one test. env is added to
// the gateway's environment.
func startEnv(t *testing.T, env ...string) *testenv.Env {
	t.Helper()
	starts <- struct{}{}
	s, err := testenv.Start(t.Context(), testenv.Config{Binary: binary, Database: migrated, Env: env, Recording: recording})
	<-starts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the gateway's log ends:\n%s", s.Service.Tail(60))
		}
	})
	return s
}

// newVideoID returns the id of a video that no other test uses.
func newVideoID() string { return youtube.NewVideoID() }

// timeoutContext returns a context for one wait of d, on an idle machine.
func timeoutContext(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d+busyMachine)
	t.Cleanup(cancel)
	return ctx
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// fastConfig is a configuration with short thresholds: checks every 2 s, alerts
// after 6 s. Each pair of extra strings is one more field and its value.
func fastConfig(extra ...string) map[string]any {
	c := map[string]any{"check_interval_sec": 2, "blackout_threshold_sec": 6, "silence_threshold_sec": 6}
	for i := 0; i+1 < len(extra); i += 2 {
		c[extra[i]] = extra[i+1]
	}
	return c
}

// register registers a monitor of a video. It is stopped when the test ends, so
// that its worker costs the other tests no time.
func register(t *testing.T, env *testenv.Env, video string, config map[string]any) (id string) {
	t.Helper()
	id, err := env.Service.Register(t.Context(), env.YouTube.URL(video), env.Receiver.URL(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = env.Service.Call(context.Background(), "DELETE", "/api/v1/monitors/"+id, nil)
	})
	return id
}

// waitEvent waits for an event of a monitor, busyMachine longer than timeout.
func waitEvent(t *testing.T, env *testenv.Env, id, event string, timeout time.Duration) webhookreceiver.Delivery {
	t.Helper()
	d, err := env.WaitEvent(timeoutContext(t, timeout), id, event)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// eventsOf returns the accepted events of a monitor, in order.
func eventsOf(env *testenv.Env, id string) (events []webhookreceiver.Delivery) {
	for _, d := range env.Receiver.Accepted() {
		if d.MonitorID == id {
			events = append(events, d)
		}
	}
	return events
}

// assertEvents fails the test unless a monitor's events are exactly these, all
// with valid signatures.
func assertEvents(t *testing.T, env *testenv.Env, id string, want ...string) {
	t.Helper()
	var got []string
	for _, d := range eventsOf(env, id) {
		got = append(got, d.EventType)
		if !d.Verified {
			t.Errorf("%s is not verified: %s", d.EventType, d.Problem)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("events %v, want %v", got, want)
	}
}

// waitStatus waits until a monitor has a status, and returns the monitor.
func waitStatus(t *testing.T, env *testenv.Env, id, status string, timeout time.Duration) map[string]any {
	t.Helper()
	m, err := env.Service.WaitStatus(timeoutContext(t, timeout), id, status)
	if err != nil {
		t.Fatalf("%v; the gateway's log ends:\n%s", err, env.Service.Tail(30))
	}
	return m
}

// waitNoWorker waits until a monitor has no worker.
func waitNoWorker(t *testing.T, env *testenv.Env, id string) {
	t.Helper()
	eventually(t, 10*time.Second, "the monitor has no worker", func() bool {
		for _, p := range env.Service.Workers() {
			if p.Env("MONITOR_ID") == id {
				return false
			}
		}
		return true
	})
}

// checks returns how many segments of a monitor have been analysed.
func checks(t *testing.T, env *testenv.Env, id string) float64 {
	t.Helper()
	m, err := env.Service.Monitor(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := m["statistics"].(map[string]any)["total_segments_analyzed"].(float64)
	return n
}

// assertNear fails the test unless a time is within a tolerance of the truth.
func assertNear(t *testing.T, what string, got, truth time.Time, tolerance time.Duration) {
	t.Helper()
	if d := got.Sub(truth).Abs(); d > tolerance {
		t.Errorf("%s is %s, the truth is %s: off by %s, more than %s", what,
			got.UTC().Format(time.StampMilli), truth.UTC().Format(time.StampMilli), d, tolerance)
	}
}

// assertAfter fails the test unless a time is the truth, or after it by at most
// delay.
func assertAfter(t *testing.T, what string, got, truth time.Time, delay time.Duration) {
	t.Helper()
	if d := got.Sub(truth); d < -exactTolerance || d > mediaTolerance+delay {
		t.Errorf("%s is off by %s, more than %s", what, d, mediaTolerance+delay)
	}
}

// pollInterval is the time between two looks at a condition. Many tests look at once, and
// most of them ask the gateway.
const pollInterval = 250 * time.Millisecond

// eventually polls until a condition holds, and fails the test when it does not hold
// busyMachine after timeout.
func eventually(t *testing.T, timeout time.Duration, what string, holds func() bool) {
	t.Helper()
	timeout += busyMachine
	for deadline := time.Now().Add(timeout); !holds(); sleep(t.Context(), pollInterval) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", timeout, what)
		}
	}
}
