package acceptance_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// watchPlainStream returns the monitor of a stream that is being watched.
func watchPlainStream(t *testing.T) string {
	t.Helper()
	v := newVideoID()
	if _, err := shared.StartStream(t.Context(), v, livestream.Config{}); err != nil {
		t.Fatal(err)
	}
	shared.YouTube.Replay(v)
	id := register(t, shared, v, map[string]any{"check_interval_sec": 2})
	waitEvent(t, shared, id, "stream.started", startTimeout)
	return id
}

// reportEnd sends a report that would end a monitor, and returns the status of the answer.
func reportEnd(t *testing.T, token, id, generation string) int {
	t.Helper()
	body := strings.NewReader(fmt.Sprintf(`{"generation":%s,"status":"completed"}`, generation))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, shared.Service.InternalURL()+"/internal/v1/monitors/"+id+"/status", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Internal-API-Key", token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A worker that a hostile stream has taken over has what is in its environment.
func TestAWorkerThatWasTakenOverEndsNoOtherWatch(t *testing.T) { // decision O9
	runTimeline(t, 2, 25*time.Second)
	id, other := watchPlainStream(t), watchPlainStream(t)
	worker := onlyWorker(t, id)
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", worker.PID))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(environ), system.InternalKey) {
		t.Error("the key of the gateway is in the worker's environment")
	}
	stolen := worker.Env("INTERNAL_API_KEY")
	for _, c := range []struct {
		name, token, id, generation string
		status                      int
	}{
		{"another stream", stolen, other, "1", http.StatusForbidden},
		{"the next generation", stolen, id, "2", http.StatusForbidden},
		{"another stream, with a token that says so", strings.Replace(stolen, id, other, 1), other, "1", http.StatusUnauthorized},
		{"no generation", stolen, id, "null", http.StatusBadRequest},
	} {
		if status := reportEnd(t, c.token, c.id, c.generation); status != c.status {
			t.Errorf("%s: answered %d, want %d", c.name, status, c.status)
		}
	}
	worker.Kill()
	eventually(t, 30*time.Second, "another worker", func() bool {
		workers := system.WorkersOf(id)
		return len(workers) == 1 && workers[0].Env("GENERATION") == "2"
	})
	if status := reportEnd(t, stolen, id, "1"); status != http.StatusConflict {
		t.Errorf("the token of the replaced worker: answered %d, want 409", status)
	}
	for _, watched := range []string{id, other} {
		before := checks(t, shared, watched)
		eventually(t, 60*time.Second, "a check", func() bool { return checks(t, shared, watched) > before })
	}
}
