package acceptance_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// Fifty streams have an open alert each, and one alert is being retried, when their gateway is killed. The test runs
// alone: fifty workers that start at once saturate the machine.
func TestFiftyStreamsAreWatchedAgainAfterTheirGatewayWasKilled(t *testing.T) { // decision O4, section 8.5
	settings := []string{"MISSING_WORKER=error", "EVIDENCE_CAPTURE=off"}
	env := startEnv(t, settings...)
	stream, err := env.StartStream(t.Context(), newVideoID(), livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	callback := env.Receiver.URL() + "?refused"
	for range maxMonitors {
		video := newVideoID()
		env.YouTube.Broadcast(video, stream)
		env.YouTube.Replay(video)
		id, err := env.Service.Register(t.Context(), env.YouTube.URL(video), callback, map[string]any{"check_interval_sec": 5, "blackout_threshold_sec": 10, "silence_threshold_sec": 300})
		if err != nil {
			t.Fatal(err)
		}
		ids, callback = append(ids, id), env.Receiver.URL()
	}
	eventually(t, 3*time.Minute, "fifty streams are watched", func() bool { return len(lastChecks(t, env)) == maxMonitors })

	accept := env.Receiver.Inject(-1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.RawQuery == "refused" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
	stream.Black(true)
	waitAlerts := func(event string, n int) {
		t.Helper()
		eventually(t, 2*time.Minute, event, func() bool { return len(alertedIn(env, ids, event)) == n })
	}
	waitAlerts("alert.blackout", maxMonitors-1)

	questions := env.YouTube.Count(youtube.Watch, "")
	killed := time.Now()
	env.Service.Kill()
	dead := time.Now()
	if err := env.KillAndRestart(t.Context(), testenv.Config{Binary: binary, Env: settings}); err != nil {
		t.Fatal(err)
	}
	accept()
	ready, err := env.Service.WaitLog(timeoutContext(t, 35*time.Second), func(l system.Line) bool { return l.Message == "the gateway is ready" })
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "all streams are watched again", func() bool { return len(watchedSince(env, dead)) == maxMonitors })
	again := lastFirstSegment(env, dead)
	t.Logf("ready %.1f s after the kill, all watched again %.1f s after that", ready.Timestamp.Sub(killed).Seconds(), again.Sub(ready.Timestamp).Seconds())
	if n := env.YouTube.Count(youtube.Watch, "") - questions; n != 0 {
		t.Errorf("yt-dlp was asked %d times, want none: the manifests had not expired", n)
	}
	waitAlerts("alert.blackout", maxMonitors)
	stream.Black(false)
	waitAlerts("alert.blackout_recovered", maxMonitors)
	for _, id := range ids {
		events := map[string]string{} // by id
		for _, d := range eventsOf(env, id) {
			events[d.EventID] = d.EventType
		}
		if len(events) != 3 {
			t.Errorf("%s has the events %v, want one start, one alert and its recovery", id, events)
		}
	}
}

// alertedIn returns the monitors with an accepted event of a type.
func alertedIn(env *testenv.Env, ids []string, event string) (all []string) {
	for _, id := range ids {
		for _, d := range eventsOf(env, id) {
			if d.EventType == event {
				all = append(all, id)
				break
			}
		}
	}
	return all
}

// watchedSince returns the videos of which a segment was fetched after a time.
func watchedSince(env *testenv.Env, after time.Time) map[string]bool {
	fetched := map[string]bool{}
	for _, r := range env.YouTube.Requests() {
		if r.Class == youtube.Segment && r.At.After(after) {
			fetched[r.Video] = true
		}
	}
	return fetched
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
