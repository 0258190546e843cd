package acceptance_test

import (
	"database/sql"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/lib/pq" // the driver

	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// recoveryLimit is the longest time from a worker's death to its successor's first
// check, on an idle machine.
const recoveryLimit = 5 * time.Second

// disrupted is an installation whose parts fail.
type disrupted struct {
	*scenario.Env
	settings []string
	db       *database
}

// config is that of a gateway that is started again.
func (d *disrupted) config() testenv.Config { return testenv.Config{Binary: binary, Env: d.settings} }

func (d *disrupted) restart(t *testing.T, restart func(*testenv.Env) error) {
	t.Helper()
	if err := restart(d.Env.Env); err != nil {
		t.Fatal(err)
	}
}

func (d *disrupted) killAndRestart(t *testing.T) {
	t.Helper()
	d.restart(t, func(e *testenv.Env) error { return e.KillAndRestart(t.Context(), d.config()) })
}

// ready reports whether the gateway is.
func (d *disrupted) ready(t *testing.T) bool {
	return statusOf(t.Context(), d.Service, "/readyz") == http.StatusOK
}

// assertReport asserts what the log says of the reconciliation at the start (section 10.4).
func (d *disrupted) assertReport(t *testing.T, field string) {
	t.Helper()
	line := waitLog(t, d.Service, 35*time.Second, hasPrefix("Startup Reconciliation Report"))
	if line.Data["active"] != 1.0 || line.Data[field] != 1.0 {
		t.Errorf("the report does not count one %s monitor: %s", field, line.Raw)
	}
}

// assertLost asserts that the gateway has learned once of the worker's loss, and how. Missing reports tell it half a minute later than the end of a process or than
// missing heartbeats.
func (d *disrupted) assertLost(t *testing.T, s *scenario.Stream, how string) {
	t.Helper()
	n := 0
	for _, l := range d.Service.Log() {
		if lost, _ := l.Data["lost"].(string); l.Message == "worker lost, another one is launched" && l.MonitorID == s.ID {
			if n++; !strings.HasPrefix(lost, how) {
				t.Errorf("a worker counts as lost because of %q, want %q", lost, how)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d workers were lost, want 1", n)
	}
}

// assertNotAskedAgain asserts that nobody has asked YouTube again: the manifest had not expired.
func assertNotAskedAgain(t *testing.T, s *scenario.Stream) {
	t.Helper()
	if n := s.Questions(); n != 1 {
		t.Errorf("yt-dlp was asked %d times, want once, at the start", n)
	}
}

func TestABlackoutSurvivesWhatIsDisrupted(t *testing.T) { // sections 8.5 and 10.4, decisions O3, O4, O5, P2, P3, S11, S17
	t.Parallel()
	inline := []string{"WORKER_RUNTIME=inline"}
	for name, c := range map[string]struct {
		settings   []string
		disruption func(d *disrupted) scenario.Disruption
	}{
		"a worker is killed": {nil, killedWorker},
		"a worker hangs":     {nil, hungWorker},
		"the gateway is killed, with MISSING_WORKER=error": {[]string{"MISSING_WORKER=error"}, killedGateway},
		"the gateway is killed, with inline workers":       {inline, killedGateway},
		"the gateway is restarted":                         {nil, restartedGateway},
		"the database is away for a minute":                {nil, absentDatabase},
		"the gateway starts without its database":          {nil, startWithoutDatabase},
		"another gateway takes over":                       {inline, takeover},
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 1)
			d := &disrupted{db: newDatabase(t)}
			d.settings = append([]string{d.db.dsn(), "EVIDENCE_CAPTURE=off"}, c.settings...)
			d.Env = startEnv(t, d.settings...)
			d.Survive(t, c.disruption(d))
		})
	}
}

func killedWorker(d *disrupted) scenario.Disruption {
	return scenario.Disruption{Within: recoveryLimit, Do: func(t *testing.T, s *scenario.Stream) {
		old := onlyWorker(t, s.ID)
		old.Kill()
		d.WaitReplaced(t, s.ID, strconv.Itoa(old.PID), recoveryLimit)
	}, Then: func(t *testing.T, s *scenario.Stream) {
		d.assertLost(t, s, "the worker's end: ")
		if now := onlyWorker(t, s.ID); now.Env("GENERATION") != "2" {
			t.Errorf("worker %d has generation %s", now.PID, now.Env("GENERATION"))
		}
	}}
}

// Three reports of a hung worker are missing.
func hungWorker(d *disrupted) scenario.Disruption {
	const noticed = 50 * time.Second
	return scenario.Disruption{Within: recoveryLimit, Late: noticed, Do: func(t *testing.T, s *scenario.Stream) {
		old := onlyWorker(t, s.ID)
		old.Signal(syscall.SIGSTOP)
		d.WaitReplaced(t, s.ID, strconv.Itoa(old.PID), noticed)
	}}
}

// A worker ends with its gateway, and its successor goes on from its last report.
func killedGateway(d *disrupted) scenario.Disruption {
	return scenario.Disruption{Within: 2 * recoveryLimit, Late: recoveryLimit, Do: func(t *testing.T, s *scenario.Stream) {
		d.Service.Kill()
		d.Eventually(t, recoveryLimit, "no worker is left", func() bool { return len(system.WorkersOf(s.ID)) == 0 })
		d.killAndRestart(t)
	}, Then: func(t *testing.T, s *scenario.Stream) {
		d.assertReport(t, "relaunched")
		assertNotAskedAgain(t, s)
	}}
}

func restartedGateway(d *disrupted) scenario.Disruption {
	return scenario.Disruption{Within: 2 * recoveryLimit, Late: 2 * recoveryLimit, Do: func(t *testing.T, _ *scenario.Stream) {
		stopped, asked := d.Service, time.Now()
		d.restart(t, func(e *testenv.Env) error { return e.Restart(t.Context(), d.config()) })
		for _, l := range stopped.Log() {
			if !l.Timestamp.Before(asked) && (l.Level == "WARN" || l.Level == "ERROR") && !strings.HasPrefix(l.Message, lateChecks) {
				t.Errorf("an orderly stop logs %s", l.Raw)
			}
		}
	}, Then: func(t *testing.T, _ *scenario.Stream) {
		d.assertReport(t, "resumed")
		line := waitLog(t, d.Service, 10*time.Second, hasPrefix("the gateway is ready"))
		if line.Data["monitors"] != 1.0 || line.Data["public_addr"] == nil {
			t.Errorf("the log says %s", line.Raw)
		}
	}}
}

func absentDatabase(d *disrupted) scenario.Disruption {
	return scenario.Disruption{Within: recoveryLimit, Late: time.Minute, Do: func(t *testing.T, s *scenario.Stream) {
		worker := onlyWorker(t, s.ID)
		d.db.stop(t)
		scenario.Sleep(t.Context(), time.Minute)
		d.db.start(t)
		if now := onlyWorker(t, s.ID); now.PID != worker.PID {
			t.Error("the worker was replaced")
		}
	}}
}

func startWithoutDatabase(d *disrupted) scenario.Disruption {
	const away = 17 * time.Second // longer than a doubling pause takes to reach its maximum
	return scenario.Disruption{Within: 2 * recoveryLimit, Late: 2 * away, Do: func(t *testing.T, _ *scenario.Stream) {
		d.Service.Kill()
		d.db.stop(t)
		d.killAndRestart(t)
		for until := time.Now().Add(away); time.Now().Before(until); scenario.Sleep(t.Context(), time.Second) {
			for path, works := range map[string]bool{"/readyz": false, "/healthz": true, "/api/v1/monitors": false} {
				if status := statusOf(t.Context(), d.Service, path); works != (status == http.StatusOK) || !works && status < 500 {
					t.Errorf("without a database %s is answered with %d", path, status)
				}
			}
		}
		assertWarnings(t, d.Service)
		d.db.start(t)
	}, Then: func(t *testing.T, _ *scenario.Stream) {
		d.assertReport(t, "relaunched")
		d.Eventually(t, recoveryLimit, "ready", func() bool { return d.ready(t) })
	}}
}

// assertWarnings asserts that the log names DB_DSN once in 10 s.
func assertWarnings(t *testing.T, s *system.Service) {
	t.Helper()
	var warned time.Time
	for _, l := range s.Log() {
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
}

// takeover kills a gateway with inline workers beside another one, which has known it for some
// heartbeats.
func takeover(d *disrupted) scenario.Disruption {
	return scenario.Disruption{Within: 2 * recoveryLimit, Late: 2 * recoveryLimit, Do: func(t *testing.T, _ *scenario.Stream) {
		other, err := d.StartBeside(t.Context(), d.config())
		if err != nil {
			t.Fatal(err)
		}
		waitForHeartbeats(t, d.db, 2, 5)
		d.Service.Kill()
		d.Service = other
	}, Then: func(t *testing.T, s *scenario.Stream) {
		d.assertLost(t, s, "the gateway that ran the worker sends no heartbeat any more")
		assertNotAskedAgain(t, s)
	}}
}

// waitForHeartbeats waits until that many gateways have each sent n heartbeats. Then each knows
// the others, because it reads their heartbeats as often as it sends its own.
func waitForHeartbeats(t *testing.T, db *database, gateways, n int) {
	t.Helper()
	pool, err := sql.Open("postgres", db.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	eventually(t, scenario.StartTimeout, "the gateways know each other", func() bool {
		known := 0
		err := pool.QueryRowContext(t.Context(), `SELECT count(*) FROM gateways WHERE heartbeats >= $1`, n).Scan(&known)
		return err == nil && known == gateways
	})
}
