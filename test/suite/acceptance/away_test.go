package acceptance_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// A gateway that comes back before its database does.
func TestADatabaseThatIsAwayAtTheStart(t *testing.T) { // 10.4, O4
	t.Parallel()
	dir := t.TempDir()
	db := &database{Server: started(t, dir)}
	t.Cleanup(db.end) // after its service's
	s := own(t, "DB_DSN="+db.DSN())
	d := inTheDark(t, s)
	worker := d.worker()
	before := checks(t, s, d.id)
	s.Service.Kill()
	if err := db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: []string{"DB_DSN=" + db.DSN()}}); err != nil {
		t.Fatal(err)
	}
	t.Logf("it listens %.1f s after its start", time.Since(s.Service.StartedAt()).Seconds())
	const away = 17 * time.Second // longer than pauses that double take to get long
	for until := time.Now().Add(away); time.Now().Before(until); pause(t.Context(), time.Second) {
		if g := look(t.Context(), s.Service, "/readyz"); g.status != http.StatusServiceUnavailable {
			t.Fatalf("without a database the readiness probe is answered with %d %v", g.status, g.err)
		}
		if g := look(t.Context(), s.Service, "/healthz"); g.status != http.StatusOK {
			t.Fatalf("without a database the liveness probe is answered with %d %v", g.status, g.err)
		}
		if g := look(t.Context(), s.Service, "/api/v1/monitors"); g.status < 500 {
			t.Fatalf("without a database a request is answered with %d %v", g.status, g.err)
		}
		if now := d.worker(); now.PID != worker.PID {
			t.Fatalf("worker %d took the place of %d", now.PID, worker.PID)
		}
	}
	said := 0
	for _, l := range s.Service.Log() {
		if l.Level == "WARN" && strings.Contains(l.Message, "DB_DSN") {
			said++
		}
	}
	if said < 1 || said > 2 {
		t.Errorf("%d lines say what to do, want one in 10 s", said)
	}

	db.Server = started(t, dir)
	back := time.Now()
	if line := report(t, s); line.Data["adopted"] != 1.0 {
		t.Errorf("the report says %s", line.Raw)
	}
	t.Logf("adopted %.1f s after the database was back", time.Since(back).Seconds())
	if took := time.Since(back); took > again {
		t.Errorf("adopted %s after the database was back, want %s", took, again)
	}
	eventually(t, again, "ready", func() bool { return look(t.Context(), s.Service, "/readyz").status == http.StatusOK })
	d.watchedAgain(back, before, 2*again)
	if now := d.worker(); now.PID != worker.PID {
		t.Errorf("worker %d took the place of %d", now.PID, worker.PID)
	}
	d.goesOnAsIfNothingWere()
}

// The deadline of section 10.4 is that of a database that is away, too.
func TestADatabaseThatIsAwayForLongerThanAReconciliationMayTake(t *testing.T) { // 10.4
	t.Parallel()
	dir := t.TempDir()
	db := &database{Server: started(t, dir)}
	t.Cleanup(db.end)
	env := []string{"DB_DSN=" + db.DSN(), "GATEWAY_RECONCILE_TIMEOUT=3s"}
	s := own(t, env...)
	d := inTheDark(t, s)
	worker := d.worker()
	s.Service.Kill()
	if err := db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: env}); err != nil {
		t.Fatal(err)
	}
	line := report(t, s)
	t.Logf("the report says %s", line.Raw)
	if g := look(t.Context(), s.Service, "/readyz"); g.status != http.StatusServiceUnavailable {
		t.Errorf("the readiness probe is answered with %d %v", g.status, g.err)
	}
	db.Server = started(t, dir)
	e := arrives(t, s, d.id, "monitor.error", 15*time.Second)
	if e.Data.Reason != "reconciliation_timeout" || e.Data.Terminal {
		t.Errorf("told %+v", e.Data)
	}
	arrives(t, s, d.id, "alert.blackout", 60*time.Second)
	if now := d.worker(); now.PID != worker.PID {
		t.Errorf("worker %d took the place of %d", now.PID, worker.PID)
	}
}

func TestADatabaseThatRefusesAtTheStart(t *testing.T) {
	t.Parallel()
	db := database{started(t, t.TempDir())}
	t.Cleanup(db.end)
	for name, dsn := range map[string]string{
		"the user":     strings.Replace(db.DSN(), "user=", "user=not_", 1),
		"the database": db.DSN() + " dbname=nowhere",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := system.Launch(system.Config{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"), Env: []string{"DB_DSN=" + dsn}})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(); err == nil || !strings.Contains(err.Error(), "exit status 1") {
				t.Errorf("it ends with %v", err)
			}
			if took := time.Since(s.StartedAt()); took > again {
				t.Errorf("it took %s", took)
			}
			if last := s.Log()[len(s.Log())-1]; last.Level != "ERROR" || last.Data["error"] == nil {
				t.Errorf("the last line is %s", last.Raw)
			}
		})
	}
}

func TestAGatewayThatWaitsForItsDatabaseEndsWhenAsked(t *testing.T) { // 8.3
	t.Parallel()
	s, err := system.Start(t.Context(), system.Config{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"),
		Env: []string{"DB_DSN=host=/nonexistent"}})
	if err != nil {
		t.Fatal(err)
	}
	asked := time.Now()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(asked); took > again {
		t.Errorf("it took %s", took)
	}
}
