package acceptance_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// TestFiftyWorkersSurviveTheirGateway runs alone: fifty workers that start or
// are adopted at once saturate the machine.
func TestFiftyWorkersSurviveTheirGateway(t *testing.T) { // decision O4, section 8.5
	const (
		interval      = 5 * time.Second
		longest       = 2*interval + time.Second // between two checks of a stream
		adoptionLimit = 2 * time.Second
	)
	env := startEnv(t)
	stream, err := env.StartStream(t.Context(), newVideoID(), livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range maxMonitors {
		id := newVideoID()
		env.YouTube.Broadcast(id, stream)
		env.YouTube.Replay(id)
		register(t, env, id, map[string]any{"check_interval_sec": interval.Seconds()})
	}
	eventually(t, 3*time.Minute, "fifty streams are watched", func() bool { return len(lastChecks(t, env)) == maxMonitors })

	previous, longestGap := lastChecks(t, env), time.Duration(0)
	if err := env.KillAndRestart(t.Context(), testenv.Config{Binary: binary}); err != nil {
		t.Fatal(err)
	}
	line := reconciliationReport(t, env)
	took := line.Timestamp.Sub(env.Service.StartedAt())
	t.Logf("all %v adopted %.2f s after the gateway was started again: %s", line.Data["adopted"], took.Seconds(), line.Raw)
	if line.Data["adopted"] != float64(maxMonitors) || took > adoptionLimit {
		t.Errorf("adopted %v within %s, want %d within %s", line.Data["adopted"], took, maxMonitors, adoptionLimit)
	}
	for end := time.Now().Add(longest + time.Second); time.Now().Before(end); {
		for id, at := range lastChecks(t, env) {
			longestGap = max(longestGap, at.Sub(previous[id]))
			previous[id] = at
		}
	}
	t.Logf("between two checks of one stream: at most %.1f s", longestGap.Seconds())
	if longestGap > longest {
		t.Errorf("a stream was not checked for %s", longestGap)
	}
}

// lastChecks returns when each monitor that is watched was last checked; it is
// empty while the gateway does not answer.
func lastChecks(t *testing.T, env *testenv.Env) map[string]time.Time {
	t.Helper()
	checked := map[string]time.Time{}
	list, err := env.Service.Call(t.Context(), http.MethodGet, "/api/v1/monitors?limit=200&status=monitoring", nil)
	if err != nil {
		return checked
	}
	monitors, _ := list.Body["monitors"].([]any)
	for _, m := range monitors {
		m, _ := m.(map[string]any)
		id, _ := m["monitor_id"].(string)
		detail, err := env.Service.Monitor(t.Context(), id)
		if err != nil {
			continue
		}
		health, _ := detail["health"].(map[string]any)
		text, _ := health["last_check_at"].(string)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			checked[id] = at
		}
	}
	return checked
}
