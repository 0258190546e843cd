package acceptance_test

import (
	"context"
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

const again = 5 * time.Second // from a worker's death to its successor's first check

// darkness is a stream that has gone black, with a watcher that has not told yet.
type darkness struct {
	*testing.T
	stage  *testenv.Env
	id     string
	stream *livestream.Stream
	black  time.Time
}

func inTheDark(t *testing.T, s *testenv.Env) *darkness {
	t.Helper()
	v := video()
	stream, err := s.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d := &darkness{T: t, stage: s, stream: stream, id: register(t, s, v, map[string]any{"check_interval_sec": 2, "blackout_threshold_sec": 15, "silence_threshold_sec": 15})}
	arrives(t, s, d.id, "stream.started", 60*time.Second)
	before := checks(t, s, d.id)
	eventually(t, 30*time.Second, "two checks", func() bool { return checks(t, s, d.id) >= before+2 })
	d.black = stream.Black(true)
	before = checks(t, s, d.id)
	eventually(t, 30*time.Second, "a check in the dark", func() bool { return checks(t, s, d.id) >= before+3 })
	return d
}

// watchedAgain waits for the next check that is stored, and says how long it
// took.
func (d *darkness) watchedAgain(since time.Time, before float64, within time.Duration) {
	d.Helper()
	eventually(d.T, time.Minute, "being watched again", func() bool { return checks(d.T, d.stage, d.id) > before })
	took := time.Since(since)
	d.Logf("watched again %.1f s after the death", took.Seconds())
	if took > within {
		d.Errorf("watched again after %s, want %s", took, within)
	}
}

// goesOnAsIfNothingWere sees the story to its end: nothing is told twice, and
// all of it as it was.
func (d *darkness) goesOnAsIfNothingWere() {
	d.Helper()
	alert := arrives(d.T, d.stage, d.id, "alert.blackout", 60*time.Second)
	near(d.T, "started_at", alert.Data.StartedAt, d.black, exact)
	picture := d.stream.Black(false)
	back := arrives(d.T, d.stage, d.id, "alert.blackout_recovered", 60*time.Second)
	near(d.T, "recovered_at", back.Data.RecoveredAt, picture, exact)
	d.stream.End()
	arrives(d.T, d.stage, d.id, "stream.ended", 60*time.Second)
	only(d.T, d.stage, d.id, "stream.started", "alert.blackout", "alert.blackout_recovered", "stream.ended")
	eventually(d.T, 35*time.Second, "no worker left", func() bool { return len(system.WorkersOf(d.id)) == 0 })
}

// worker is the only worker of the monitor.
func (d *darkness) worker() system.Process {
	d.Helper()
	all := system.WorkersOf(d.id)
	if len(all) != 1 {
		d.Fatalf("%d workers run, want 1", len(all))
	}
	return all[0]
}

func TestAWorkerThatIsKilledIsReplaced(t *testing.T) { // O3, S11
	t.Parallel()
	d := inTheDark(t, common)
	before, old := checks(t, common, d.id), d.worker()
	old.Kill()
	d.watchedAgain(time.Now(), before, again)
	if now := d.worker(); now.PID == old.PID || now.Env("GENERATION") != "2" {
		t.Errorf("worker %d has generation %s", now.PID, now.Env("GENERATION"))
	}
	d.goesOnAsIfNothingWere()
}

func TestAWorkerThatHangsIsReplaced(t *testing.T) { // O3: three missed reports
	t.Parallel()
	d := inTheDark(t, common)
	before, old := checks(t, common, d.id), d.worker()
	old.Signal(syscall.SIGSTOP)
	d.watchedAgain(time.Now(), before, 50*time.Second)
	if now := d.worker(); now.PID == old.PID {
		t.Error("it is still the old one")
	}
	d.goesOnAsIfNothingWere()
}

func TestAGatewayThatIsKilledAdoptsItsWorkers(t *testing.T) { // O4
	t.Parallel()
	s := own(t)
	d := inTheDark(t, s)
	old := d.worker()
	if err := s.KillAndRestart(t.Context(), testenv.Config{Binary: binary}); err != nil {
		t.Fatal(err)
	}
	line := report(t, s)
	if n := line.Data["adopted"]; n != 1.0 {
		t.Errorf("adopted %v: %s", n, line.Raw)
	}
	if now := d.worker(); now.PID != old.PID {
		t.Errorf("worker %d took the place of %d", now.PID, old.PID)
	}
	// What the adopted worker prints is in the new gateway's log.
	if _, err := s.Service.WaitLog(limited(t, 60*time.Second), func(l system.Line) bool {
		return l.MonitorID == d.id && l.Component == "worker" && l.Data["event_type"] == "alert.blackout"
	}); err != nil {
		t.Error(err)
	}
	d.goesOnAsIfNothingWere()
}

func TestAGatewayThatIsKilledWithItsWorkerRelaunchesIt(t *testing.T) { // O4, O3
	t.Parallel()
	s := own(t)
	d := inTheDark(t, s)
	before, old := checks(t, s, d.id), d.worker()
	s.Service.Kill()
	old.Kill()
	died := time.Now()
	if err := s.KillAndRestart(t.Context(), testenv.Config{Binary: binary}); err != nil {
		t.Fatal(err)
	}
	if line := report(t, s); line.Data["relaunched"] != 1.0 {
		t.Errorf("relaunched %v: %s", line.Data["relaunched"], line.Raw)
	}
	d.watchedAgain(died, before, 2*again)
	d.goesOnAsIfNothingWere()
}

func TestByThePolicyOfTheSpecification(t *testing.T) { // O3: MISSING_WORKER=error; 10.4
	t.Parallel()
	s := own(t, "MISSING_WORKER=error")
	expect := func(d *darkness) webhookreceiver.Delivery {
		t.Helper()
		e := arrives(t, s, d.id, "monitor.error", 15*time.Second)
		becomes(t, s, d.id, "error", 5*time.Second)
		only(t, s, d.id, "stream.started", "monitor.error")
		return e
	}
	lost, missing := inTheDark(t, s), inTheDark(t, s)
	lost.worker().Kill()
	if e := expect(lost); e.Data.Reason != "worker_lost" || !e.Data.Terminal {
		t.Errorf("told %+v", e.Data)
	}
	old := missing.worker()
	s.Service.Kill()
	old.Kill()
	if err := s.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: []string{"MISSING_WORKER=error"}}); err != nil {
		t.Fatal(err)
	}
	e := expect(missing)
	if e.Data.Reason != "reconciliation_mismatch" || !e.Data.Terminal {
		t.Errorf("told %+v", e.Data)
	}
	if line := report(t, s); line.Data["marked_as_error"] != 1.0 {
		t.Errorf("the report says %s", line.Raw)
	}
}

func TestWorkersInTheGatewayItself(t *testing.T) { // P2, WORKER_RUNTIME=inline
	t.Parallel()
	s := own(t, "WORKER_RUNTIME=inline")
	d := inTheDark(t, s)
	if n := len(system.WorkersOf(d.id)); n != 0 {
		t.Errorf("%d worker processes run", n)
	}
	before := checks(t, s, d.id)
	died := time.Now()
	if err := s.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: []string{"WORKER_RUNTIME=inline"}}); err != nil {
		t.Fatal(err)
	}
	d.watchedAgain(died, before, 2*again)
	d.goesOnAsIfNothingWere()
}

// report waits for the report of the reconciliation at the start (section 10.4).
func report(t *testing.T, s *testenv.Env) system.Line {
	t.Helper()
	line, err := s.Service.WaitLog(limited(t, 35*time.Second), func(l system.Line) bool {
		return l.Message == "Startup Reconciliation Report"
	})
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestAWorkerThatNobodyNeedsIsEnded(t *testing.T) { // 10.4: zombies
	t.Parallel()
	db := database{started(t, t.TempDir())}
	t.Cleanup(db.end)
	s := own(t, "DB_DSN="+db.DSN())
	d := inTheDark(t, s)
	worker := d.worker()
	worker.Signal(syscall.SIGSTOP) // so that it does not find out by itself
	s.Service.Kill()
	store, err := postgres.Open(t.Context(), db.DSN(), postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.End(t.Context(), monitor.ID(d.id), monitor.Stopped, "", nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: []string{"DB_DSN=" + db.DSN()}}); err != nil {
		t.Fatal(err)
	}
	if line := report(t, s); line.Data["zombies_deleted"] != 1.0 {
		t.Errorf("the report says %s", line.Raw)
	}
	eventually(t, 40*time.Second, "the worker's end", func() bool { return len(system.WorkersOf(d.id)) == 0 })
}

func TestADatabaseThatIsAwayForAMinute(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := &database{Server: started(t, dir)}
	t.Cleanup(db.end) // after its service's
	s := own(t, "DB_DSN="+db.DSN())
	d := inTheDark(t, s)
	worker := d.worker()
	if err := db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute) // nothing can be seen of it meanwhile
	db.Server = started(t, dir)
	back := time.Now()
	alert := arrives(t, s, d.id, "alert.blackout", 60*time.Second)
	t.Logf("the alert came %.1f s after the database was back", alert.Received.Sub(back).Seconds())
	if late := alert.Received.Sub(back); late > again {
		t.Errorf("the alert came %s after the database was back", late)
	}
	if now := d.worker(); now.PID != worker.PID {
		t.Error("the worker was replaced")
	}
	d.goesOnAsIfNothingWere()
}

// database is a PostgreSQL of the test's own.
type database struct{ *embedded.Server }

func started(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	db, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (d *database) end() { _ = d.Stop(context.Background()) }
