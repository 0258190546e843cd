package acceptance_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// binary is stream-monitor, built once.
var binary string

// common is the stage that most tests share, each with videos of its own.
var common *testenv.Env

// together is how many tests run at once: they wait more than they work.
const together = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", together); err != nil {
		os.Exit(fail(err))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "stream-monitor-acceptance-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if binary, err = system.Build(ctx, dir); err != nil {
		return fail(err)
	}
	if common, err = testenv.Start(ctx, testenv.Config{Binary: binary}); err != nil {
		return fail(err)
	}
	status := m.Run()
	// Whatever was started must be gone, and every line of every part in the
	// specified shape.
	if err := common.Close(); err != nil {
		return fail(err)
	}
	for _, l := range common.Service.Log() {
		if l.Malformed {
			return fail(fmt.Errorf("a log line is not in the shape of section 11.2: %s", l.Raw))
		}
	}
	return status
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "acceptance:", err)
	return 1
}

// own sets a stage for one test, with an environment of its own.
func own(t *testing.T, env ...string) *testenv.Env {
	t.Helper()
	s, err := testenv.Start(t.Context(), testenv.Config{Binary: binary, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the service's log ends:\n%s", s.Service.Tail(60))
		}
	})
	return s
}

// video is the id of a video that no other test has.
func video() string { return youtube.NewVideoID() }

// limited is a context for one wait.
func limited(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// quick is a configuration whose alerts come soon.
func quick(change ...string) map[string]any {
	c := map[string]any{"check_interval_sec": 2, "blackout_threshold_sec": 6, "silence_threshold_sec": 6}
	for i := 0; i+1 < len(change); i += 2 {
		c[change[i]] = change[i+1]
	}
	return c
}

// register registers a monitor of a video with the stage's sink.
func register(t *testing.T, s *testenv.Env, video string, config map[string]any) (id string) {
	t.Helper()
	id, err := s.Service.Register(t.Context(), s.YouTube.URL(video), s.Receiver.URL(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// It must not outlive its test: workers cost the other tests their time.
		_, _ = s.Service.Call(context.Background(), "DELETE", "/api/v1/monitors/"+id, nil)
	})
	return id
}

// arrives waits for an event of a monitor.
func arrives(t *testing.T, s *testenv.Env, id, event string, within time.Duration) webhookreceiver.Delivery {
	t.Helper()
	d, err := s.WaitEvent(limited(t, within), id, event)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// about is the accepted events of a monitor, in order.
func about(s *testenv.Env, id string) (all []webhookreceiver.Delivery) {
	for _, d := range s.Receiver.Accepted() {
		if d.MonitorID == id {
			all = append(all, d)
		}
	}
	return all
}

// only fails the test unless a monitor's events are exactly these.
func only(t *testing.T, s *testenv.Env, id string, want ...string) {
	t.Helper()
	var got []string
	for _, d := range about(s, id) {
		got = append(got, d.EventType)
		if !d.Verified {
			t.Errorf("%s is not verified: %s", d.EventType, d.Problem)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("events %v, want %v", got, want)
	}
}

// becomes waits until a monitor has a status.
func becomes(t *testing.T, s *testenv.Env, id, status string, within time.Duration) map[string]any {
	t.Helper()
	m, err := s.Service.WaitStatus(limited(t, within), id, status)
	if err != nil {
		t.Fatalf("%v; the service's log ends:\n%s", err, s.Service.Tail(30))
	}
	return m
}

// near fails the test unless a time is within a tolerance of the truth.
func near(t *testing.T, what string, got, truth time.Time, tolerance time.Duration) {
	t.Helper()
	if d := got.Sub(truth).Abs(); d > tolerance {
		t.Errorf("%s is %s, the truth is %s: off by %s, more than %s", what,
			got.UTC().Format(time.StampMilli), truth.UTC().Format(time.StampMilli), d, tolerance)
	}
}
