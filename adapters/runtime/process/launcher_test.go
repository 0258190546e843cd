package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/internal/localworkers"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestLauncher(t *testing.T) {
	launchertest.Run(t, func(t *testing.T) launchertest.Harness {
		r := newHarness(t, nil)
		return launchertest.Harness{
			Launcher: r.launcher, Close: r.launcher.Close, Alive: r.alive, GracePeriod: gracePeriod,
		}
	})
}

// A worker's tools are killed with it, and no zombie of the gateway remains.
func TestNoProcessIsLeftOfAnEndedWorker(t *testing.T) {
	for _, c := range []struct {
		name      string
		behaviour launchertest.Behaviour
		end       func(*harness, supervisor.WorkerSpec)
		detail    string
	}{
		{"when it is stopped", hasTools, func(r *harness, spec supervisor.WorkerSpec) { _ = r.launcher.Stop(r.t.Context(), spec.ID) }, "ended"},
		{"when it is stopped by force", hasToolsIgnoresStop, func(r *harness, spec supervisor.WorkerSpec) { _ = r.launcher.Stop(r.t.Context(), spec.ID) }, "killed by SIGKILL"},
		{"when it ends by itself", hasToolsExits, func(*harness, supervisor.WorkerSpec) {}, "exit status 7"},
		{"when another process kills it", hasTools, func(r *harness, spec supervisor.WorkerSpec) {
			_ = syscall.Kill(readMarks(r.marks, "worker", string(spec.ID))[0].pid, syscall.SIGKILL)
		}, "killed by SIGKILL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, spec := newHarness(t, nil), newSpec(c.behaviour)
			r.launch(spec)
			await.True(t, "the worker and its two tools run", func() bool {
				return len(readMarks(r.marks, "worker", string(spec.ID))) == 1 && len(readMarks(r.marks, "tool", string(spec.ID))) == 2
			})
			worker := readMarks(r.marks, "worker", string(spec.ID))[0].pid
			c.end(r, spec)
			if e := r.exit(); e.Detail != c.detail {
				t.Errorf("got %+v, want %s", e, c.detail)
			}
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", worker)); err == nil {
				t.Error("the worker is still there")
			}
			r.gone("tool", spec.ID)
		})
	}
}

// Decision O4.
func TestAWorkerEndsWithItsGateway(t *testing.T) {
	r, spec := &harness{t: t, marks: t.TempDir()}, newSpec(hasToolsIgnoresStop)
	gateway := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	gateway.Env = append(os.Environ(), gatewayVariable+"="+r.marks)
	must.Do(t, gateway.Start())
	await.True(t, "the worker and its two tools run", func() bool {
		return len(r.alive(spec.ID)) == 1 && len(readMarks(r.marks, "tool", string(spec.ID))) == 2
	})
	_ = gateway.Process.Kill()
	_ = gateway.Wait()
	r.gone("worker", spec.ID)
	r.gone("tool", spec.ID)
}

func TestAMissingProgramIsReported(t *testing.T) {
	r := newHarness(t, func(c *process.Config) { c.Path = "/nowhere/stream-monitor" })
	expect.Failure(t, r.launcher.Launch(t.Context(), newSpec(launchertest.StopsWhenAsked)), "/nowhere/stream-monitor")
}

// Section 8.1.
func TestAWorkerGetsItsAssignmentAndNoSecrets(t *testing.T) {
	for _, name := range []string{"DB_DSN", "API_KEY", "WEBHOOK_SIGNING_KEY", "INTERNAL_API_KEY", "PGPASSWORD", "SOMETHING_NEW"} {
		t.Setenv(name, "geheim")
	}
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	r := newHarness(t, func(c *process.Config) {
		c.Environ = append(c.Environ, "STREAM_RENDITION=best", "LOG_LEVEL=error", "MONITOR_ID=another")
		c.GatewayCA = "/etc/gateway.pem"
	})
	spec := newSpec(showsEnviron)
	r.launch(spec)
	r.awaitWorker(spec.ID)
	b := must.Get(os.ReadFile(readMarks(r.marks, "worker", string(spec.ID))[0].file))(t)
	got := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		if _, twice := got[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		got[name] = value
	}
	for name, want := range map[string]string{
		"MONITOR_ID":       string(spec.ID),
		"STREAM_URL":       string(spec.StreamURL),
		"CALLBACK_URL":     string(spec.CallbackURL),
		"GENERATION":       "3",
		"GATEWAY_URL":      "http://127.0.0.1:8081",
		"GATEWAY_CA_FILE":  "/etc/gateway.pem",
		"END_WITH_INPUT":   "on",
		"STREAM_RENDITION": "best",
		"INTERNAL_API_KEY": monitor.NewTokenKey("internal-key").Token(spec.ID, 3),
		"LOG_LEVEL":        "debug",
		"HTTPS_PROXY":      "http://proxy.example:3128",
		"PATH":             os.Getenv("PATH"),
	} {
		expect.Equal(t, name, got[name], want)
	}
	if strings.Contains(string(b), "geheim") {
		t.Error("a secret reached the worker")
	}
	var config monitor.Config
	if err := json.Unmarshal([]byte(got["CONFIG_JSON"]), &config); err != nil || config != spec.Config {
		t.Errorf("CONFIG_JSON is %s (%v)", got["CONFIG_JSON"], err)
	}
}

func TestAWorkersOutputIsInTheGatewaysLog(t *testing.T) {
	r, spec := newHarness(t, nil), newSpec(printsLines)
	r.launch(spec)
	r.awaitWorker(spec.ID)
	_ = r.launcher.Stop(t.Context(), spec.ID)

	type record struct {
		Level, Msg, Component string
		MonitorID             string `json:"monitor_id"`
		Line                  string
		Cut                   bool
	}
	var wrapped []record
	own := 0
	for _, w := range r.log.all() {
		if strings.Count(w, "\n") != 1 || !strings.HasSuffix(w, "\n") {
			t.Errorf("a write that is not one line: %.80q", w)
		}
		if w == fmt.Sprintf(`{"timestamp":"2024-01-15T20:15:30.120+09:00","level":"INFO","monitor_id":"%s","generation":%d,"component":"segment_analyzer","message":"own line","data":{"n":1}}`+"\n", spec.ID, spec.Generation) {
			own++
			continue
		}
		var rec record
		if err := json.Unmarshal([]byte(w), &rec); err != nil {
			t.Errorf("not a log line: %.80q", w)
		}
		if rec.Component == "worker" {
			wrapped = append(wrapped, rec)
		}
	}
	expect.Equal(t, "own lines of the log of the worker", own, 2)
	want := map[string]record{}
	add := func(text string, cut bool) {
		want[text] = record{"WARN", "a worker printed a line that is no log line: look for the end of this worker", "worker", string(spec.ID), text, cut}
	}
	for _, text := range []string{
		"plain words", `{"not":"a log line"}`, `{"timestamp":"2024","level":"INFO","message":"cut`,
		loudLine, "bad \uFFFD bytes", "after the long one", "no line end", "on stderr",
	} {
		add(text, false)
	}
	add(strings.Repeat("x", 64<<10), true)
	for _, rec := range wrapped {
		if want[rec.Line] != rec {
			t.Errorf("unexpected record %.200s", fmt.Sprintf("%+v", rec))
		}
		delete(want, rec.Line)
	}
	for text := range want {
		t.Errorf("missing: %.80s", text)
	}
}

func TestAnInvalidConfigIsRefused(t *testing.T) {
	_, err := process.New(process.Config{GracePeriod: time.Second})
	for _, name := range []string{"GatewayURL", "Tokens", "Output"} {
		expect.Failure(t, err, name)
	}
}

func TestNothingLeaksWithEachWorker(t *testing.T) {
	r := newHarness(t, nil)
	open := func() int {
		entries := must.Get(os.ReadDir("/proc/self/fd"))(t)
		return len(entries)
	}
	before := 0
	for n := range 51 {
		spec := newSpec(launchertest.ExitsCleanly)
		spec.Generation = n + 1
		r.launch(spec)
		r.exit()
		if n == 0 {
			before = open() // the runtime poller has its descriptors by now
		}
	}
	if after := open(); after > before {
		t.Errorf("%d files are open, %d were after the first", after, before)
	}
}

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
