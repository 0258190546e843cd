package process_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// logRecorder is the gateway's log. It keeps each Write, and copies all to file if that
// is set.
type logRecorder struct {
	file   string
	mu     sync.Mutex
	writes []string
}

func (l *logRecorder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, string(p))
	if l.file != "" {
		_ = os.WriteFile(l.file, []byte(strings.Join(l.writes, "")), 0o600)
	}
	return len(p), nil
}

func (l *logRecorder) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.writes...)
}

const gracePeriod = 500 * time.Millisecond

// settings configures a gateway whose workers leave marks, which the tests read.
func settings(runDir, marks string, log *logRecorder) process.Config {
	return process.Config{
		GatewayURL: "http://127.0.0.1:8081", Tokens: monitor.NewTokenKey("internal-key"), LogLevel: "debug",
		RunDir: runDir,
		Output: log,
		Log:    slog.New(slog.NewJSONHandler(log, nil)),
		Args:   []string{"-test.run=^$"},
		// A program with the race detector sleeps a second before it ends.
		Environ:     append(os.Environ(), marksVariable+"="+marks, "GORACE=atexit_sleep_ms=0"),
		GracePeriod: gracePeriod,
	}
}

type harness struct {
	t        *testing.T
	launcher *process.Launcher
	runDir   string
	marks    string
	log      *logRecorder
}

// newHarnessWithoutLauncher makes a harness without a launcher.
func newHarnessWithoutLauncher(t *testing.T) *harness {
	t.Helper()
	return &harness{t: t, runDir: filepath.Join(t.TempDir(), "run"), marks: t.TempDir(), log: &logRecorder{}}
}

func newHarness(t *testing.T, change func(*process.Config)) *harness {
	t.Helper()
	r := newHarnessWithoutLauncher(t)
	r.startLauncher(change)
	return r
}

// startLauncher makes the launcher and closes it with the test.
func (r *harness) startLauncher(change func(*process.Config)) {
	r.t.Helper()
	cfg := settings(r.runDir, r.marks, r.log)
	if change != nil {
		change(&cfg)
	}
	l, err := process.New(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.launcher = l
	r.t.Cleanup(func() { _ = l.Close(context.Background()) })
}

func (r *harness) alive(id monitor.ID) []int {
	var out []int
	for _, w := range readMarks(r.marks, "worker", string(id)) {
		if s := state(w.pid); s != "" && s != "Z" {
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
	if err := r.launcher.Launch(r.t.Context(), spec); err != nil {
		r.t.Fatalf("launch: %v", err)
	}
}

func (r *harness) exit() supervisor.Exit {
	r.t.Helper()
	select {
	case e := <-r.launcher.Exits():
		return e
	case <-time.After(20 * time.Second):
		r.t.Fatal("no exit came")
	}
	return supervisor.Exit{}
}

// pid is the process id of a monitor's only running worker.
func (r *harness) pid(id monitor.ID) int {
	r.t.Helper()
	var all []int
	for _, w := range readMarks(r.marks, "worker", string(id)) {
		if s := state(w.pid); s != "" && s != "Z" {
			all = append(all, w.pid)
		}
	}
	if len(all) != 1 {
		r.t.Fatalf("%d workers of %s are alive, want 1", len(all), id)
	}
	return all[0]
}

func (r *harness) signal(id monitor.ID, s syscall.Signal) {
	r.t.Helper()
	if err := syscall.Kill(r.pid(id), s); err != nil {
		r.t.Fatal(err)
	}
}

// expectListed checks which generations are listed, of all monitors.
func (r *harness) expectListed(want ...int) {
	r.t.Helper()
	workers, err := r.launcher.Workers(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	var got []int
	for _, w := range workers {
		got = append(got, w.Generation)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.t.Errorf("listed are generations %v, want %v", got, want)
	}
}

// writeFile writes a file of the run directory.
func (r *harness) writeFile(name, content string) {
	r.t.Helper()
	if err := os.MkdirAll(r.runDir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.runDir, name), []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// expectFiles checks the files of the run directory, without lock and id.
func (r *harness) expectFiles(want ...string) {
	r.t.Helper()
	entries, err := os.ReadDir(r.runDir)
	if err != nil {
		r.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.Name() != "lock" && e.Name() != "id" {
			got = append(got, e.Name())
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.t.Errorf("in the run directory are %q, want %q", got, want)
	}
}

// expectLogged checks that one line of the log contains all these words.
func (r *harness) expectLogged(words ...string) {
	r.t.Helper()
	for _, line := range r.log.all() {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			return
		}
	}
	r.t.Errorf("no line of the log has %q; it is:\n%s", words, strings.Join(r.log.all(), ""))
}

func (r *harness) eventually(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("timed out waiting for %s", what)
		}
	}
}
