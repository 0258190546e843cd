package process_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/internal/localworkers"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// logRecorder is the gateway's log. It keeps each Write.
type logRecorder struct {
	mu     sync.Mutex
	writes []string
}

func (l *logRecorder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, string(p))
	return len(p), nil
}

func (l *logRecorder) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.writes...)
}

const gracePeriod = 500 * time.Millisecond

// settings configures a gateway whose workers leave marks, which the tests read.
func settings(idFile, marks string, log *logRecorder) process.Config {
	return process.Config{
		GatewayURL: "http://127.0.0.1:8081", Tokens: monitor.NewTokenKey("internal-key"), LogLevel: "debug",
		IDFile: idFile,
		Output: log,
		Log:    slog.New(slog.NewJSONHandler(log, nil)),
		Args:   []string{"-test.run=^$"},
		// A program with the race detector sleeps a second before it ends. One whose coverage is
		// measured warns unless it has a directory for that.
		Environ:     []string{marksVariable + "=" + marks, "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + marks, "LAUNCHER_PATH=" + os.Getenv("LAUNCHER_PATH")},
		GracePeriod: gracePeriod,
	}
}

type harness struct {
	t        *testing.T
	launcher *localworkers.Launcher
	marks    string
	log      *logRecorder
}

// newHarness makes a launcher and closes it with the test.
func newHarness(t *testing.T, change func(*process.Config)) *harness {
	t.Helper()
	r := &harness{t: t, marks: t.TempDir(), log: &logRecorder{}}
	cfg := settings(filepath.Join(t.TempDir(), "id"), r.marks, r.log)
	if change != nil {
		change(&cfg)
	}
	l := must.Get(process.New(cfg))(t)
	r.launcher = l
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return r
}

func (r *harness) alive(id monitor.ID) []int {
	var out []int
	for _, w := range readMarks(r.marks, "worker", string(id)) {
		if !await.Ended(w.pid) {
			out = append(out, w.generation)
		}
	}
	return out
}

func newSpec(b launchertest.Behaviour) supervisor.WorkerSpec {
	return supervisor.WorkerSpec{
		ID:         monitor.NewID([16]byte{6: 0x70, 8: 0x80}),
		Generation: 3, StreamURL: monitor.StreamURL("https://www.youtube.com/watch?v=" + string(b)),
		CallbackURL: "https://receiver.example/hook", Config: monitor.DefaultConfig(),
	}
}

func (r *harness) launch(spec supervisor.WorkerSpec) {
	r.t.Helper()
	must.Do(r.t, r.launcher.Launch(r.t.Context(), spec))
}

func (r *harness) exit() supervisor.Exit {
	r.t.Helper()
	select {
	case e := <-r.launcher.Exits():
		return e
	case <-time.After(time.Minute):
		r.t.Fatal("no exit came")
	}
	return supervisor.Exit{}
}

// gone waits until no process of a monitor has a mark of this kind.
func (r *harness) gone(kind string, id monitor.ID) {
	r.t.Helper()
	for _, p := range readMarks(r.marks, kind, string(id)) {
		await.End(r.t, p.pid)
	}
}

// awaitWorker waits until a monitor's worker runs.
func (r *harness) awaitWorker(id monitor.ID) {
	r.t.Helper()
	await.True(r.t, "the worker runs", func() bool { return len(r.alive(id)) == 1 })
}
