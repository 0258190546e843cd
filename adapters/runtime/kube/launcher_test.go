package kube_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// The client keeps its connection to a real API server open.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"))
}

const namespace = "streams"

func settings() kube.Config {
	return kube.Config{Image: "stream-monitor:1", GatewayURL: "https://gateway:8081", Secret: "keys", Tokens: monitor.NewTokenKey("internal-key"), Grace: time.Second}
}

func harness(t *testing.T, cluster *fakeCluster) launchertest.Harness {
	t.Helper()
	l := must.Get(kube.New(kube.NewCluster(cluster.client, namespace), settings()))(t)
	return launchertest.Harness{
		Launcher:     l,
		Close:        l.Close,
		Alive:        cluster.runningGenerations,
		Kill:         func(id monitor.ID) { cluster.removePod(id.WorkerName(), "") },
		KeepsWorkers: true,
		GracePeriod:  time.Second,
	}
}

func TestLauncher(t *testing.T) {
	launchertest.Run(t, func(t *testing.T) launchertest.Harness { return harness(t, newFakeCluster(t)) })
}

func TestLauncherAdoptsRunningWorkers(t *testing.T) {
	launchertest.RunAdoption(t, func(t *testing.T, running []supervisor.WorkerSpec) launchertest.Harness {
		cluster := newFakeCluster(t)
		earlier := harness(t, cluster)
		for _, spec := range running {
			must.Do(t, earlier.Launcher.Launch(t.Context(), spec))
			waitFor(t, "the worker to run", func() bool { return len(cluster.runningGenerations(spec.ID)) == 1 })
		}
		must.Do(t, earlier.Close(t.Context()))
		return harness(t, cluster)
	})
}

// patience is how long a test waits. It allows for a busy cluster, and for a kubelet that pauses
// for half a minute before a fourth crash.
const patience = 150 * time.Second

// waitFor polls a condition.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
	}
}

func workerSpec(b launchertest.Behaviour) supervisor.WorkerSpec {
	return supervisor.WorkerSpec{
		ID:         monitor.NewID([16]byte{6: 0x70, 8: 0x80}),
		Generation: 3, StreamURL: monitor.StreamURL("https://www.youtube.com/watch?v=" + string(b)),
		CallbackURL: "https://receiver.example/hook", Config: monitor.DefaultConfig(),
	}
}

// newLauncher returns a launcher that is closed with the test.
func newLauncher(t *testing.T, cluster *fakeCluster, cfg kube.Config) *kube.Launcher {
	t.Helper()
	l := must.Get(kube.New(kube.NewCluster(cluster.client, namespace), cfg))(t)
	t.Cleanup(func() { must.Do(t, l.Close(context.Background())) })
	return l
}

// open returns a cluster with a launcher.
func open(t *testing.T, cfg kube.Config) (*fakeCluster, *kube.Launcher) {
	t.Helper()
	cluster := newFakeCluster(t)
	return cluster, newLauncher(t, cluster, cfg)
}

func mustLaunch(t *testing.T, l *kube.Launcher, spec supervisor.WorkerSpec) {
	t.Helper()
	must.Do(t, l.Launch(t.Context(), spec))
}

const klogEnv = "STREAM_MONITOR_TEST_KLOG"

// Section 11.1. A process has one klog, so the test runs itself in another process.
func TestTheClientLibraryLogsToTheGivenLog(t *testing.T) {
	if os.Getenv(klogEnv) != "" {
		cfg := settings()
		cfg.Log = slog.New(slog.NewJSONHandler(os.Stdout, nil))
		newLauncher(t, newFakeCluster(t), cfg)
		newLauncher(t, newFakeCluster(t), settings()) // the first call decides
		klog.Warning("a warning of klog")
		klog.ErrorS(errors.New("away"), "an error of klog")
		klog.Flush()
		return
	}
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	process.Env = append(os.Environ(), klogEnv+"=1")
	var stdout, stderr bytes.Buffer
	process.Stdout, process.Stderr = &stdout, &stderr
	if err := process.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	expect.Text(t, "the output", stdout.String(), `"level":"INFO","msg":"a warning of klog","component":"kube"`, // slog gets klog's warnings as INFO
		`"level":"ERROR","msg":"an error of klog","component":"kube","err":"away"`)
	if stderr.Len() > 0 {
		t.Errorf("standard error has %q", &stderr)
	}
}

// settingsWithLog returns settings and the log that they write to.
func settingsWithLog() (kube.Config, *logbuffer.Buffer) {
	log, cfg := &logbuffer.Buffer{}, settings()
	cfg.Log = slog.New(slog.NewJSONHandler(log, nil))
	return cfg, log
}
