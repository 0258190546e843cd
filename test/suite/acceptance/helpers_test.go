package acceptance_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// mediaTolerance is how far an instant that comes from the media may be off. It is exact to some
// pictures where every segment is looked at. When checks are late, or the watcher has changed to
// other URLs, the one in which the picture changes may be left out, and one of the next two is
// taken, up to 4 s later.
const mediaTolerance = scenario.ExactTolerance + 4*time.Second

// busyMachine is how much later than on an idle machine something may happen. A dozen
// timelines, runs of yt-dlp that each need seconds of CPU time, and other tests share the
// cores. Every wait has this time in addition, and so has whatever is to happen soon
// enough. That finds what does not happen at all, or only when something else comes to its
// help; the exact times are asserted in virtual time, by the tests of domain and
// application. Nothing may come too early, and nothing twice.
const busyMachine = 90 * time.Second

// lateChecks is in the warning that the machine is busy, which no test is about.
const lateChecks = "Checks began late"

// starts holds one for each gateway that is being started. A start takes seconds of CPU time, so few at once are over sooner.
var starts = make(chan struct{}, 2)

// installed returns an environment in which scenarios can be played.
func installed(env *testenv.Env) *scenario.Env {
	return &scenario.Env{Env: env, Patience: busyMachine, Tolerance: mediaTolerance, Workers: func(_ *testing.T, id string) (all []string) {
		for _, p := range system.WorkersOf(id) {
			all = append(all, strconv.Itoa(p.PID))
		}
		return all
	}}
}

// startEnv starts a gateway with its surroundings for one test. env is added to
// the gateway's environment.
func startEnv(t *testing.T, env ...string) *scenario.Env {
	t.Helper()
	return startConfigured(t, func(*testenv.Env) []string { return env })
}

// startConfigured is startEnv with an environment that depends on the fakes.
func startConfigured(t *testing.T, env func(fakes *testenv.Env) []string) *scenario.Env {
	t.Helper()
	c := testenv.Config{Binary: binary, Database: migrated, Recording: recording}
	starts <- struct{}{}
	s, err := testenv.StartFakes(c)
	if err == nil {
		c.Env = env(s)
		err = s.StartGateway(t.Context(), c)
	}
	<-starts
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() && s.Service != nil {
			t.Logf("the gateway's log ends:\n%s", s.Service.Tail(60))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return installed(s)
}

// newVideoID returns the id of a video that no other test uses.
func newVideoID() string { return youtube.NewVideoID() }

// newVideoURL returns the URL of a video that does not exist.
func newVideoURL() string { return "https://www.youtube.com/watch?v=" + newVideoID() }

// timeoutContext returns a context for one wait of d, on an idle machine.
func timeoutContext(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d+busyMachine)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls until a condition holds, and fails the test when it does not hold
// busyMachine after timeout.
func eventually(t *testing.T, timeout time.Duration, what string, holds func() bool) {
	t.Helper()
	shared.Eventually(t, timeout, what, holds)
}

// fastConfig is a configuration with short thresholds: checks every 2 s, alerts
// after 6 s.
func fastConfig() map[string]any {
	return map[string]any{"check_interval_sec": 2, "blackout_threshold_sec": 6, "silence_threshold_sec": 6}
}

// callOK calls the API and fails the test unless it answers 200.
func callOK(t *testing.T, s *system.Service, method, path string, body any) map[string]any {
	t.Helper()
	answer, err := s.Call(t.Context(), method, path, body)
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("%s %s is answered %d %v, %v", method, path, answer.Status, answer.Body, err)
	}
	return answer.Body
}

// create makes an object by the API and returns its id.
func create(t *testing.T, s *system.Service, path, idField string, body map[string]any) string {
	t.Helper()
	a, err := s.Call(t.Context(), http.MethodPost, path, body)
	id, _ := a.Body[idField].(string)
	if err != nil || a.Status != http.StatusCreated || id == "" {
		t.Fatalf("POST %s is answered %d %v, %v", path, a.Status, a.Body, err)
	}
	return id
}

// waitLog waits for a line of the gateway's log.
func waitLog(t *testing.T, s *system.Service, within time.Duration, is func(system.Line) bool) system.Line {
	t.Helper()
	line, err := s.WaitLog(timeoutContext(t, within), is)
	if err != nil {
		t.Fatalf("a line of the log is missing: %v; it ends:\n%s", err, s.Tail(20))
	}
	return line
}

// onlyWorker returns the only worker of a monitor.
func onlyWorker(t *testing.T, monitorID string) system.Process {
	t.Helper()
	workers := system.WorkersOf(monitorID)
	if len(workers) != 1 {
		t.Fatalf("%d workers run, want 1", len(workers))
	}
	return workers[0]
}

// toolPath returns the path of an installed tool.
func toolPath(t *testing.T, tool string) string {
	t.Helper()
	path, err := testtools.Tool(tool, "")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// writeScript writes a shell script that stands in for a tool.
func writeScript(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// startGateway starts a gateway without surroundings. Its tools find no stream.
func startGateway(t *testing.T, c system.Config) *system.Service {
	t.Helper()
	s := launchGateway(t, c)
	if err := s.WaitListening(timeoutContext(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	return s
}

// launchGateway is startGateway without waiting.
func launchGateway(t *testing.T, c system.Config) *system.Service {
	t.Helper()
	if c.DataDir == "" {
		c.DataDir = filepath.Join(t.TempDir(), "data")
	}
	c.Binary, c.Env = binary, append([]string{"YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true"}, c.Env...)
	s, err := system.Launch(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Stop() // most tests have stopped it
		if t.Failed() {
			t.Logf("the gateway's log ends:\n%s", s.Tail(30))
		}
	})
	return s
}

// database is a PostgreSQL server of one test.
type database struct {
	*embedded.Server
	dir string
}

// newDatabase starts a migrated database that ends with the test, after its gateways. The path of its
// directory is shorter than that of t.TempDir, because a socket's path has at most 107 bytes.
// With a longer path each start of the server has its socket in another directory.
func newDatabase(t *testing.T) *database {
	t.Helper()
	dir, err := os.MkdirTemp("", "stream-monitor-db-") //nolint:usetesting // see above
	if err == nil {
		err = os.Chmod(dir, 0o755) // the server runs as another user than root
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must.Do(t, testenv.CopyDatabase(t.Context(), migrated, dir))
	db := &database{dir: dir}
	db.start(t)
	t.Cleanup(func() { _ = db.Stop(context.Background()) })
	return db
}

func (d *database) start(t *testing.T) {
	t.Helper()
	var err error
	if d.Server, err = embedded.Start(t.Context(), embedded.Config{DataDir: d.dir}); err != nil {
		t.Fatal(err)
	}
}

func (d *database) stop(t *testing.T) {
	t.Helper()
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// dsn is the setting of a gateway that uses the database.
func (d *database) dsn() string { return "DB_DSN=" + d.DSN() }

// hasPrefix returns a condition: a line of the log begins so.
func hasPrefix(message string) func(system.Line) bool {
	return func(l system.Line) bool { return strings.HasPrefix(l.Message, message) }
}
