package kube_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// A connection to a real API server is kept for the next that asks.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"))
}

const namespace = "streams"

func settings() kube.Config {
	return kube.Config{Image: "stream-monitor:1", GatewayURL: "https://gateway:8081", Secret: "keys", Grace: time.Second}
}

func harness(t *testing.T, s *simulated) launchertest.Harness {
	t.Helper()
	s.set(func(s *simulated) { s.crashPause /= 1000 }) // this is in real time
	l, err := kube.New(kube.Of(s.client, namespace), settings())
	if err != nil {
		t.Fatal(err)
	}
	return launchertest.Harness{
		Launcher:     l,
		Close:        l.Close,
		Alive:        s.working,
		Kill:         func(id monitor.ID) { s.vanish(id.WorkerName(), "") },
		KeepsWorkers: true,
		GracePeriod:  time.Second,
	}
}

func TestLauncher(t *testing.T) {
	launchertest.Run(t, func(t *testing.T) launchertest.Harness { return harness(t, simulate(t)) })
}

func TestLauncherOfWorkersThatWereThere(t *testing.T) {
	launchertest.RunAdoption(t, func(t *testing.T, running []supervisor.WorkerSpec) launchertest.Harness {
		s := simulate(t)
		earlier := harness(t, s)
		for _, j := range running {
			if err := earlier.Launcher.Launch(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			until(t, "the worker", func() bool { return len(s.working(j.ID)) == 1 })
		}
		if err := earlier.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return harness(t, s)
	})
}

// until polls, within ten seconds.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
	}
}

func job(b launchertest.Behaviour) supervisor.WorkerSpec {
	return supervisor.WorkerSpec{
		ID:         monitor.NewID([16]byte{6: 0x70, 8: 0x80}),
		Generation: 3, StreamURL: monitor.StreamURL("https://www.youtube.com/watch?v=" + string(b)),
		CallbackURL: "https://receiver.example/hook", Config: monitor.DefaultConfig(),
	}
}

func expectContains(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

// open makes a launcher that is closed with the test.
func open(t *testing.T, s *simulated, cfg kube.Config) *kube.Launcher {
	t.Helper()
	l, err := kube.New(kube.Of(s.client, namespace), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}
