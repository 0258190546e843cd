package acceptance_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// recoveryLimit is the longest time from a worker's death to its successor's first
// check, on an idle machine.
const recoveryLimit = 5 * time.Second

// blackStream is a watched stream that has gone black, before its alert is due.
type blackStream struct {
	*testing.T
	env    *testenv.Env
	id     string
	stream *livestream.Stream
	black  time.Time
}

func watchBlackStream(t *testing.T, env *testenv.Env) *blackStream {
	t.Helper()
	v := newVideoID()
	stream, err := env.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	env.YouTube.Replay(v)
	d := &blackStream{T: t, env: env, stream: stream, id: register(t, env, v, map[string]any{"check_interval_sec": 2, "blackout_threshold_sec": 15, "silence_threshold_sec": 15})}
	waitEvent(t, env, d.id, "stream.started", startTimeout)
	before := checks(t, env, d.id)
	eventually(t, 30*time.Second, "two checks", func() bool { return checks(t, env, d.id) >= before+2 })
	d.black = stream.Black(true)
	before = checks(t, env, d.id)
	eventually(t, 30*time.Second, "three checks of the black picture", func() bool { return checks(t, env, d.id) >= before+3 })
	return d
}

// waitWatchedAgain waits for the next check that is stored.
func (d *blackStream) waitWatchedAgain(before float64, within time.Duration) {
	d.Helper()
	since := time.Now()
	eventually(d.T, within, "watched again", func() bool { return checks(d.T, d.env, d.id) > before })
	d.Logf("watched again after %.1f s", time.Since(since).Seconds())
}

// waitReplaced waits until another worker than old is alone, and watches. A report of old that was on
// its way is stored meanwhile, so the checks are counted when it is gone.
func (d *blackStream) waitReplaced(old system.Process, within time.Duration) {
	d.Helper()
	eventually(d.T, within, "another worker", func() bool {
		workers := system.WorkersOf(d.id)
		return len(workers) == 1 && workers[0].PID != old.PID
	})
	d.waitWatchedAgain(checks(d.T, d.env, d.id), recoveryLimit)
}

// assertLost asserts how the gateway has learned of workers that are no more, from the
// log: once for each worker, and in this way alone. Missing reports tell it half a minute
// later than the end of a process or than missing heartbeats.
func assertLost(t *testing.T, env *testenv.Env, workers int, how string, isOf func(system.Line) bool) {
	t.Helper()
	n := 0
	for _, l := range env.Service.Log() {
		if lost, _ := l.Data["lost"].(string); l.Message == "worker lost, another one is launched" && isOf(l) {
			if n++; !strings.HasPrefix(lost, how) {
				t.Errorf("a worker counts as lost because of %q, want %q", lost, how)
			}
		}
	}
	if n != workers {
		t.Errorf("%d workers were lost, want %d", n, workers)
	}
}

// assertContinuesUnharmed lets the blackout end, and the stream. Each event must
// arrive once, with the true instants.
func (d *blackStream) assertContinuesUnharmed() {
	d.Helper()
	alert := waitEvent(d.T, d.env, d.id, "alert.blackout", 60*time.Second)
	assertNear(d.T, "started_at", alert.Data.StartedAt, d.black, mediaTolerance)
	picture := d.stream.Black(false)
	back := waitEvent(d.T, d.env, d.id, "alert.blackout_recovered", 60*time.Second)
	assertNear(d.T, "recovered_at", back.Data.RecoveredAt, picture, mediaTolerance)
	d.stream.End()
	waitEvent(d.T, d.env, d.id, "stream.ended", 60*time.Second)
	assertEvents(d.T, d.env, d.id, "stream.started", "alert.blackout", "alert.blackout_recovered", "stream.ended")
	eventually(d.T, 35*time.Second, "no worker is left", func() bool { return len(system.WorkersOf(d.id)) == 0 })
}

// worker returns the only worker of the monitor.
func (d *blackStream) worker() system.Process {
	d.Helper()
	return onlyWorker(d.T, d.id)
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

func TestAKilledWorkerIsReplaced(t *testing.T) { // decisions O3, S11
	runTimeline(t, 1, 40*time.Second)
	d := watchBlackStream(t, shared)
	old := d.worker()
	old.Kill()
	d.waitReplaced(old, recoveryLimit)
	assertLost(t, shared, 1, "the worker's end: ", func(l system.Line) bool { return l.MonitorID == d.id })
	if now := d.worker(); now.Env("GENERATION") != "2" {
		t.Errorf("worker %d has generation %s", now.PID, now.Env("GENERATION"))
	}
	d.assertContinuesUnharmed()
}

func TestAHungWorkerIsReplaced(t *testing.T) { // decision O3: three reports are missing
	runTimeline(t, 1, 70*time.Second)
	d := watchBlackStream(t, shared)
	old := d.worker()
	old.Signal(syscall.SIGSTOP)
	d.waitReplaced(old, 50*time.Second)
	d.assertContinuesUnharmed()
}

// A worker ends with its gateway, and its successor goes on from its last report.
func TestStreamsAreWatchedOnAfterTheirGatewayWasKilled(t *testing.T) { // decisions O3, O4, P2
	t.Parallel()
	for name, settings := range map[string][]string{
		"worker processes": nil,
		"worker processes, with MISSING_WORKER=error": {"MISSING_WORKER=error"},
		"inline workers": {"WORKER_RUNTIME=inline"},
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 1, 45*time.Second)
			env := startEnv(t, settings...)
			d := watchBlackStream(t, env)
			old, before := system.WorkersOf(d.id), checks(t, env, d.id)
			if isInline := len(old) == 0; isInline != (name == "inline workers") {
				t.Fatalf("%d worker processes run", len(old))
			}
			env.Service.Kill()
			eventually(t, recoveryLimit, "no worker is left", func() bool { return len(system.WorkersOf(d.id)) == 0 })
			if err := env.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: settings}); err != nil {
				t.Fatal(err)
			}
			if line := reconciliationReport(t, env); line.Data["relaunched"] != 1.0 {
				t.Errorf("the report says %s", line.Raw)
			}
			d.waitWatchedAgain(before, 2*recoveryLimit)
			d.assertContinuesUnharmed()
		})
	}
}

func TestALostWorkerEndsItsMonitorWhenThePolicyIsError(t *testing.T) { // section 10.4, decision O3: MISSING_WORKER=error
	runTimeline(t, 1, 45*time.Second)
	env := startEnv(t, "MISSING_WORKER=error")
	lost := watchStream(t, env, livestream.Config{}, nil)
	onlyWorker(t, lost.id).Kill()
	if e := lost.waitEvent("monitor.error", 15*time.Second); e.Data.Reason != "worker_lost" || !e.Data.Terminal {
		t.Errorf("the event says %+v", e.Data)
	}
	waitStatus(t, env, lost.id, "error", 5*time.Second)
	assertEvents(t, env, lost.id, "stream.started", "monitor.error")
}

// reconciliationReport waits for the log line of the reconciliation at the start
// (section 10.4).
func reconciliationReport(t *testing.T, env *testenv.Env) system.Line {
	t.Helper()
	line, err := env.Service.WaitLog(timeoutContext(t, 35*time.Second), func(l system.Line) bool {
		return l.Message == "Startup Reconciliation Report"
	})
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestAnAlertIsSentSoonAfterADatabaseOutage(t *testing.T) {
	runTimeline(t, 1, 100*time.Second)
	dir := databaseDir(t)
	db := &database{Server: startDatabase(t, dir)}
	t.Cleanup(db.end) // after its gateway's
	env := startEnv(t, "DB_DSN="+db.DSN())
	d := watchBlackStream(t, env)
	worker := d.worker()
	if err := db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	sleep(t.Context(), time.Minute) // the length of the outage
	db.Server = startDatabase(t, dir)
	back := time.Now()
	alert := waitEvent(t, env, d.id, "alert.blackout", recoveryLimit)
	t.Logf("the alert came %.1f s after the database was back", alert.Received.Sub(back).Seconds())
	if now := d.worker(); now.PID != worker.PID {
		t.Error("the worker was replaced")
	}
	d.assertContinuesUnharmed()
}

// database is a PostgreSQL server of one test.
type database struct{ *embedded.Server }

// databaseDir returns a directory for a database. Its path is shorter than that of
// t.TempDir, because a socket's path has at most 107 bytes. With a longer path each
// start of the server has its socket in another directory.
func databaseDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stream-monitor-db-") //nolint:usetesting // see above
	if err == nil {
		err = os.Chmod(dir, 0o755) // the server runs as another user than root
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startDatabase starts a PostgreSQL server on a directory.
func startDatabase(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	db, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (d *database) end() { _ = d.Stop(context.Background()) }
