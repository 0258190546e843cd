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

func TestAGatewayStartsWithoutItsDatabaseAndWatchesLater(t *testing.T) { // section 10.4, decision O4
	runTimeline(t, 1, 70*time.Second)
	dir := databaseDir(t)
	db := &database{Server: startDatabase(t, dir)}
	t.Cleanup(db.end) // after its service's
	env := startEnv(t, "DB_DSN="+db.DSN())
	d := watchBlackStream(t, env)
	before := checks(t, env, d.id)
	env.Service.Kill()
	if err := db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := env.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: []string{"DB_DSN=" + db.DSN()}}); err != nil {
		t.Fatal(err)
	}
	t.Logf("the gateway listens %.1f s after its start", time.Since(env.Service.StartedAt()).Seconds())
	const away = 17 * time.Second // longer than a doubling pause takes to reach its maximum
	for until := time.Now().Add(away); time.Now().Before(until); sleep(t.Context(), time.Second) {
		if r := get(t.Context(), env.Service, "/readyz"); r.status != http.StatusServiceUnavailable {
			t.Fatalf("without a database the readiness probe is answered with %d %v", r.status, r.err)
		}
		if r := get(t.Context(), env.Service, "/healthz"); r.status != http.StatusOK {
			t.Fatalf("without a database the liveness probe is answered with %d %v", r.status, r.err)
		}
		if r := get(t.Context(), env.Service, "/api/v1/monitors"); r.status < 500 {
			t.Fatalf("without a database a request is answered with %d %v", r.status, r.err)
		}
	}
	var warned time.Time
	for _, l := range env.Service.Log() {
		if l.Level == "WARN" && strings.Contains(l.Message, "DB_DSN") {
			if l.Timestamp.Sub(warned) < 9*time.Second {
				t.Errorf("warnings %s apart name DB_DSN, want one in 10 s", l.Timestamp.Sub(warned))
			}
			warned = l.Timestamp
		}
	}
	if warned.IsZero() {
		t.Error("no warning names DB_DSN")
	}

	db.Server = startDatabase(t, dir)
	back := time.Now()
	if line := reconciliationReport(t, env); line.Data["relaunched"] != 1.0 {
		t.Errorf("the report says %s", line.Raw)
	}
	t.Logf("launched %.1f s after the database was back", time.Since(back).Seconds())
	eventually(t, recoveryLimit, "ready", func() bool { return get(t.Context(), env.Service, "/readyz").status == http.StatusOK })
	d.waitWatchedAgain(before, 2*recoveryLimit)
	d.assertContinuesUnharmed()
}

// The time limit of section 10.4 also holds while the database is away.
func TestAReconciliationThatTimesOutIsRepeatedWhenTheDatabaseIsBack(t *testing.T) { // section 10.4
	runTimeline(t, 1, 45*time.Second)
	dir := databaseDir(t)
	db := &database{Server: startDatabase(t, dir)}
	t.Cleanup(db.end)
	settings := []string{"DB_DSN=" + db.DSN(), "GATEWAY_RECONCILE_TIMEOUT=3s"}
	env := startEnv(t, settings...)
	d := watchBlackStream(t, env)
	env.Service.Kill()
	if err := db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := env.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: settings}); err != nil {
		t.Fatal(err)
	}
	line := reconciliationReport(t, env)
	t.Logf("the report says %s", line.Raw)
	if r := get(t.Context(), env.Service, "/readyz"); r.status != http.StatusServiceUnavailable {
		t.Errorf("the readiness probe is answered with %d %v", r.status, r.err)
	}
	db.Server = startDatabase(t, dir)
	e := waitEvent(t, env, d.id, "monitor.error", 30*time.Second)
	if e.Data.Reason != "reconciliation_timeout" || e.Data.Terminal {
		t.Errorf("the event says %+v", e.Data)
	}
	waitEvent(t, env, d.id, "alert.blackout", 60*time.Second)
}

func TestAGatewayThatItsDatabaseRefusesExits(t *testing.T) {
	runTimeline(t, 1, 10*time.Second)
	db := database{startDatabase(t, databaseDir(t))}
	t.Cleanup(db.end)
	for name, dsn := range map[string]string{
		"an unknown user":     strings.Replace(db.DSN(), "user=", "user=not_", 1),
		"an unknown database": db.DSN() + " dbname=nowhere",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := system.Launch(system.Config{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"), Env: []string{"DB_DSN=" + dsn}})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(); err == nil || !strings.Contains(err.Error(), "exit status 1") {
				t.Errorf("the gateway exits with %v", err)
			}
			if last := s.Log()[len(s.Log())-1]; last.Level != "ERROR" || last.Data["error"] == nil {
				t.Errorf("the last line is %s", last.Raw)
			}
		})
	}
}

func TestAGatewayWithoutTheKeyOfStoredSecretsIsRefused(t *testing.T) { // section 19.1
	runTimeline(t, 0, 15*time.Second)
	db := &database{startDatabase(t, databaseDir(t))}
	t.Cleanup(db.end)
	launch := func(dataDir string, env ...string) *system.Service {
		t.Helper()
		s, err := system.Launch(system.Config{Binary: binary, DataDir: dataDir, Env: append(env, "DB_DSN="+db.DSN())})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	use := func(s *system.Service, f func(*testenv.Env)) {
		t.Helper()
		if err := s.WaitListening(t.Context()); err != nil {
			t.Fatal(err)
		}
		f(&testenv.Env{Service: s})
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}

	data := filepath.Join(t.TempDir(), "data")
	keys, err := system.StoreKeys(data)
	if err != nil {
		t.Fatal(err)
	}
	fromFile := []string{"API_KEY=", "INTERNAL_API_KEY=", "WEBHOOK_SIGNING_KEY="}
	var id string
	use(launch(data, fromFile...), func(env *testenv.Env) {
		id = create(t, env, "/api/v1/destinations", "destination_id", map[string]any{
			"name": "board", "kind": "webhook", "config": map[string]any{}, "secrets": map[string]any{"url": "https://hooks.example.com/x", "signing_key": "the-own-signing-key"}})
	})

	elsewhere := filepath.Join(t.TempDir(), "data")
	s := launch(elsewhere) // the other three keys are the same
	err = s.Wait()
	if said := s.Tail(10); err == nil || !strings.Contains(err.Error(), "exit status 2") || !strings.Contains(said, "SECRETS_KEY") || !strings.Contains(said, `"board"`) {
		t.Errorf("with three keys the gateway exits with %v and says:\n%s", err, said)
	}

	for name, s := range map[string]*system.Service{
		"keys.json":   launch(data, fromFile...),
		"SECRETS_KEY": launch(elsewhere, "SECRETS_KEY="+keys["SECRETS_KEY"]),
	} {
		use(s, func(env *testenv.Env) {
			d := callOK(t, env, http.MethodGet, "/api/v1/destinations/"+id, nil)
			if health, _ := d["health"].(map[string]any); health["last_error"] != nil {
				t.Errorf("with %s the destination says %v", name, health)
			}
		})
	}
}

func TestAGatewayThatWaitsForItsDatabaseStopsOnSIGTERM(t *testing.T) { // section 8.3
	runTimeline(t, 0, 1*time.Second)
	s, err := system.Start(t.Context(), system.Config{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"),
		Env: []string{"DB_DSN=host=/nonexistent"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
