package acceptance_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// waitReady waits until the gateway is ready.
func waitReady(t *testing.T, env *testenv.Env) {
	t.Helper()
	eventually(t, 10*time.Second, "the gateway is ready", func() bool {
		return get(t.Context(), env.Service, "/readyz").status == http.StatusOK
	})
	t.Logf("ready after %s", time.Since(env.Service.StartedAt()))
}

func TestAMonitorContinuesAfterARestart(t *testing.T) { // decisions P3, S11
	runTimeline(t, 1, 45*time.Second)
	env := startEnv(t)
	p := watchStream(t, env, livestream.Config{}, nil)
	black := p.Black(true)
	p.waitEvent(blackoutAlert, 60*time.Second)
	stopped, asked := env.Service, time.Now()
	if err := env.Restart(t.Context(), testenv.Config{Binary: binary}); err != nil {
		t.Fatal(err)
	}
	assertNoWarningsSince(t, stopped, asked)
	assertResumed(t, env, 1)
	p.Black(false)
	e := p.waitEvent(blackoutRecovered, 60*time.Second)
	assertNear(t, "started_at", e.Data.StartedAt, black, mediaTolerance)
	p.endAndAssert(blackoutAlert, blackoutRecovered)
}

// assertResumed checks the log of a start. It counts the resumed monitors, and ends
// with the address of the API.
func assertResumed(t *testing.T, env *testenv.Env, monitors float64) {
	t.Helper()
	if line := reconciliationReport(t, env); line.Data["active"] != monitors || line.Data["resumed"] != monitors {
		t.Errorf("the report does not count %v resumed monitors: %s", monitors, line.Raw)
	}
	if _, err := env.Service.WaitLog(timeoutContext(t, 10*time.Second), func(l system.Line) bool {
		return l.Message == "the gateway is ready" && l.Data["monitors"] == monitors && l.Data["public_addr"] != nil
	}); err != nil {
		t.Errorf("no line says that the gateway is ready: %v", err)
	}
}

// assertNoWarningsSince checks what a gateway logs when it is stopped.
func assertNoWarningsSince(t *testing.T, s *system.Service, since time.Time) {
	t.Helper()
	for _, l := range s.Log() {
		if !l.Timestamp.Before(since) && (l.Level == "WARN" || l.Level == "ERROR") && !strings.HasPrefix(l.Message, lateChecks) {
			t.Errorf("an orderly stop logs %s", l.Raw)
		}
	}
}

func TestTheGatewaySurvivesABrokenLogPipe(t *testing.T) {
	runTimeline(t, 1, 70*time.Second)
	env := startEnv(t)
	v := newVideoID()
	env.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	id := register(t, env, v, fastConfig())
	waitStatus(t, env, id, "waiting", 60*time.Second)
	if err := env.Service.CloseLogPipe(); err != nil {
		t.Fatal(err)
	}
	stream, err := env.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	waitEvent(t, env, id, "stream.started", startTimeout)
	stream.End()
	waitEvent(t, env, id, "stream.ended", 60*time.Second)
	assertEvents(t, env, id, "stream.started", "stream.ended")
}

func TestAStoppedMonitorHasNoWorker(t *testing.T) { // section 3.2, decision A6
	runTimeline(t, 1, 6*time.Second)
	v := newVideoID()
	shared.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	id := register(t, shared, v, nil)
	waitStatus(t, shared, id, "waiting", 60*time.Second)
	for range 2 {
		a, err := shared.Service.Call(t.Context(), "DELETE", "/api/v1/monitors/"+id, nil)
		if err != nil || a.Status != 200 || a.Body["status"] != "stopped" || a.Body["stopped_at"] == nil {
			t.Fatalf("stopping: %v %v", a, err)
		}
	}
	waitNoWorker(t, shared, id)
	assertEvents(t, shared, id)
}

func TestInvalidRegistrationsAreRefused(t *testing.T) { // section 3.5
	runTimeline(t, 0, 1*time.Second)
	body := func(stream string) map[string]any {
		return map[string]any{"stream_url": stream, "callback_url": shared.Receiver.URL()}
	}
	for name, c := range map[string]struct {
		body   any
		status int
		code   string
	}{
		"not a YouTube URL": {body("https://example.com/live"), 400, "INVALID_URL"},
		"a channel":         {body("https://www.youtube.com/@example/live"), 400, "INVALID_URL"},
		"not an object":     {"hello", 400, "INVALID_CONFIG"},
	} {
		a, err := shared.Service.Call(t.Context(), "POST", "/api/v1/monitors", c.body)
		e, _ := a.Body["error"].(map[string]any)
		if err != nil || a.Status != c.status || e["code"] != c.code || e["message"] == "" {
			t.Errorf("%s: %v %v", name, a, err)
		}
	}
}

func TestWatchPrintsEventsAndItsRecordingReplays(t *testing.T) { // decision P1
	runTimeline(t, 1, 45*time.Second)
	v := newVideoID()
	stream, err := shared.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	recording := filepath.Join(t.TempDir(), "recording.jsonl")
	var out, log logbuffer.Buffer
	cmd := exec.CommandContext(timeoutContext(t, 3*time.Minute), binary, "watch", shared.YouTube.URL(v),
		"--check-interval-sec=2", "--blackout-threshold-sec=6", "--json", "--record", recording)
	cmd.Env = append(cmd.Environ(), shared.Service.Environment(shared.YouTube.Env())...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 60*time.Second, "two checks", func() bool { return shared.YouTube.Count(youtube.Segment, v) >= 2 })
	stream.Black(true)
	eventually(t, 30*time.Second, "the alert is printed", func() bool { return out.Contains(blackoutAlert + `"`) })
	stream.Black(false)
	eventually(t, 30*time.Second, "the recovery is printed", func() bool { return out.Contains(blackoutRecovered) })
	stream.End()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	want := []string{"stream.started", "alert.blackout", "alert.blackout_recovered", "stream.ended"}
	if got := eventTypes(t, []byte(out.String())); !slices.Equal(got, want) {
		t.Errorf("printed %v, want %v", got, want)
	}
	t.Run("the recording replays to the same events", func(t *testing.T) {
		replayed, err := exec.CommandContext(t.Context(), binary, "replay", "--json", recording).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := eventTypes(t, replayed); !slices.Equal(got, want) {
			t.Errorf("replayed %v, want %v", got, want)
		}
	})
}

// eventTypes returns the event types of JSON lines.
func eventTypes(t *testing.T, lines []byte) (types []string) {
	t.Helper()
	for line := range strings.Lines(string(lines)) {
		var e struct {
			Type string `json:"event_type"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		types = append(types, e.Type)
	}
	return types
}
