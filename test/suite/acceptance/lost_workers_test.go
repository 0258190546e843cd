package acceptance_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// recoveryLimit is the longest time from a worker's death to its successor's first
// check.
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

// waitWatchedAgain waits for the next check that is stored, and fails the test when
// it comes later than limit after since.
func (d *blackStream) waitWatchedAgain(since time.Time, before float64, limit time.Duration) {
	d.Helper()
	eventually(d.T, time.Minute, "watched again", func() bool { return checks(d.T, d.env, d.id) > before })
	took := time.Since(since)
	d.Logf("watched again %.1f s after the death", took.Seconds())
	if took > limit {
		d.Errorf("watched again after %s, want %s", took, limit)
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
	runQuietTimeline(t, 1, 40*time.Second)
	d := watchBlackStream(t, shared)
	old := d.worker()
	// It dies just after a check: one on its way would be taken for its successor's.
	before := checks(t, shared, d.id)
	eventually(t, 30*time.Second, "a check", func() bool { return checks(t, shared, d.id) > before })
	before = checks(t, shared, d.id)
	old.Kill()
	d.waitWatchedAgain(time.Now(), before, recoveryLimit)
	if now := d.worker(); now.PID == old.PID || now.Env("GENERATION") != "2" {
		t.Errorf("worker %d has generation %s", now.PID, now.Env("GENERATION"))
	}
	d.assertContinuesUnharmed()
}

func TestAHungWorkerIsReplaced(t *testing.T) { // decision O3: three reports are missing
	runQuietTimeline(t, 1, 70*time.Second)
	d := watchBlackStream(t, shared)
	old, hung := d.worker(), time.Now()
	old.Signal(syscall.SIGSTOP)
	// A report that was on its way is stored meanwhile, so the checks are counted
	// when the old worker is gone.
	eventually(t, 50*time.Second, "another worker", func() bool {
		workers := system.WorkersOf(d.id)
		return len(workers) == 1 && workers[0].PID != old.PID
	})
	d.waitWatchedAgain(hung, checks(t, shared, d.id), 50*time.Second)
	d.assertContinuesUnharmed()
}

func TestARestartedGatewayAdoptsItsWorkers(t *testing.T) { // decision O4
	runQuietTimeline(t, 1, 45*time.Second)
	env := startEnv(t)
	d := watchBlackStream(t, env)
	old := d.worker()
	if err := env.KillAndRestart(t.Context(), testenv.Config{Binary: binary}); err != nil {
		t.Fatal(err)
	}
	line := reconciliationReport(t, env)
	if n := line.Data["adopted"]; n != 1.0 {
		t.Errorf("adopted %v: %s", n, line.Raw)
	}
	if now := d.worker(); now.PID != old.PID {
		t.Errorf("worker %d took the place of %d", now.PID, old.PID)
	}
	// The adopted worker's log lines are in the new gateway's log.
	if _, err := env.Service.WaitLog(timeoutContext(t, 60*time.Second), func(l system.Line) bool {
		return l.MonitorID == d.id && l.Component == "worker" && l.Data["event_type"] == "alert.blackout"
	}); err != nil {
		t.Error(err)
	}
	d.assertContinuesUnharmed()
}

func TestARestartedGatewayRelaunchesALostWorker(t *testing.T) { // decisions O3, O4
	runQuietTimeline(t, 1, 45*time.Second)
	env := startEnv(t)
	d := watchBlackStream(t, env)
	before, old := checks(t, env, d.id), d.worker()
	env.Service.Kill()
	old.Kill()
	died := time.Now()
	if err := env.KillAndRestart(t.Context(), testenv.Config{Binary: binary}); err != nil {
		t.Fatal(err)
	}
	if line := reconciliationReport(t, env); line.Data["relaunched"] != 1.0 {
		t.Errorf("relaunched %v: %s", line.Data["relaunched"], line.Raw)
	}
	d.waitWatchedAgain(died, before, 2*recoveryLimit)
	d.assertContinuesUnharmed()
}

func TestMissingWorkersEndTheirMonitorsWhenThePolicyIsError(t *testing.T) { // section 10.4, decision O3: MISSING_WORKER=error
	runQuietTimeline(t, 2, 45*time.Second)
	env := startEnv(t, "MISSING_WORKER=error")
	expectError := func(p *watchedStream) webhookreceiver.Delivery {
		t.Helper()
		e := p.waitEvent("monitor.error", 15*time.Second)
		waitStatus(t, env, p.id, "error", 5*time.Second)
		assertEvents(t, env, p.id, "stream.started", "monitor.error")
		return e
	}
	lost, missing := watchStream(t, env, livestream.Config{}, nil), watchStream(t, env, livestream.Config{}, nil)
	onlyWorker(t, lost.id).Kill()
	if e := expectError(lost); e.Data.Reason != "worker_lost" || !e.Data.Terminal {
		t.Errorf("the event says %+v", e.Data)
	}
	old := onlyWorker(t, missing.id)
	env.Service.Kill()
	old.Kill()
	if err := env.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: []string{"MISSING_WORKER=error"}}); err != nil {
		t.Fatal(err)
	}
	e := expectError(missing)
	if e.Data.Reason != "reconciliation_mismatch" || !e.Data.Terminal {
		t.Errorf("the event says %+v", e.Data)
	}
	if line := reconciliationReport(t, env); line.Data["marked_as_error"] != 1.0 {
		t.Errorf("the report says %s", line.Raw)
	}
}

func TestInlineWorkersContinueAfterARestart(t *testing.T) { // decision P2: WORKER_RUNTIME=inline
	runQuietTimeline(t, 1, 45*time.Second)
	env := startEnv(t, "WORKER_RUNTIME=inline")
	d := watchBlackStream(t, env)
	if n := len(system.WorkersOf(d.id)); n != 0 {
		t.Errorf("%d worker processes run", n)
	}
	before := checks(t, env, d.id)
	died := time.Now()
	if err := env.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: []string{"WORKER_RUNTIME=inline"}}); err != nil {
		t.Fatal(err)
	}
	d.waitWatchedAgain(died, before, 2*recoveryLimit)
	d.assertContinuesUnharmed()
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

func TestAnOrphanedWorkerIsEnded(t *testing.T) { // section 10.4: zombies
	runTimeline(t, 1, 30*time.Second)
	db := database{startDatabase(t, databaseDir(t))}
	t.Cleanup(db.end)
	env := startEnv(t, "DB_DSN="+db.DSN())
	d := watchBlackStream(t, env)
	worker := d.worker()
	worker.Signal(syscall.SIGSTOP) // so that it does not notice by itself
	env.Service.Kill()
	store, err := postgres.Open(t.Context(), db.DSN(), postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.End(t.Context(), monitor.ID(d.id), monitor.Stopped, "", nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := env.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: []string{"DB_DSN=" + db.DSN()}}); err != nil {
		t.Fatal(err)
	}
	if line := reconciliationReport(t, env); line.Data["zombies_deleted"] != 1.0 {
		t.Errorf("the report says %s", line.Raw)
	}
	eventually(t, 40*time.Second, "the worker is gone", func() bool { return len(system.WorkersOf(d.id)) == 0 })
}

func TestAnAlertIsSentSoonAfterADatabaseOutage(t *testing.T) {
	runQuietTimeline(t, 1, 100*time.Second)
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
	alert := waitEvent(t, env, d.id, "alert.blackout", 60*time.Second)
	t.Logf("the alert came %.1f s after the database was back", alert.Received.Sub(back).Seconds())
	if late := alert.Received.Sub(back); late > recoveryLimit {
		t.Errorf("the alert came %s after the database was back", late)
	}
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
