package acceptance_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

const (
	concurrentCreates = 200 // registrations at once
	maxMonitors       = 50  // MAX_MONITORS
	callback          = "http://127.0.0.1:9/hook"
)

// startGateways starts n gateways on one database. Their tools find no stream.
func startGateways(t *testing.T, n int, env ...string) (all []*system.Service) {
	t.Helper()
	dir := t.TempDir()
	db, err := embedded.Start(t.Context(), embedded.Config{DataDir: filepath.Join(dir, "db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for i := range n {
		s, err := system.Start(t.Context(), system.Config{
			Binary: binary, DataDir: filepath.Join(dir, fmt.Sprint("data", i)),
			Env: append([]string{"DB_DSN=" + db.DSN(), "MAX_MONITORS=" + strconv.Itoa(maxMonitors), "YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true"}, env...),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Logf("the log ends:\n%s", s.Tail(20))
			}
		})
		all = append(all, s)
	}
	return all
}

// createConcurrently makes concurrentCreates registrations at once, over the
// gateways in turn, and counts the answers by status and error code.
func createConcurrently(t *testing.T, to []*system.Service, stream func(i int) string) map[string]int {
	t.Helper()
	answers := make([]system.Response, concurrentCreates)
	var all sync.WaitGroup
	for i := range concurrentCreates {
		all.Go(func() {
			body := createBody(stream(i))
			for deadline := time.Now().Add(busyMachine); ; { // a busy database may take longer than a statement may
				var err error
				if answers[i], err = to[i%len(to)].Call(t.Context(), http.MethodPost, "/api/v1/monitors", body); err != nil {
					t.Error(err)
				}
				if answers[i].Status < 500 || time.Now().After(deadline) {
					return
				}
				sleep(t.Context(), pollInterval)
			}
		})
	}
	all.Wait()
	counted := map[string]int{}
	for _, a := range answers {
		e, _ := a.Body["error"].(map[string]any)
		counted[fmt.Sprintf("%d %v", a.Status, e["code"])]++
		after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		if limited := a.Status == http.StatusTooManyRequests; limited && after == 0 {
			t.Errorf("a %d says Retry-After: %q", a.Status, a.Header.Get("Retry-After"))
		}
	}
	return counted
}

func TestConcurrentCreatesStoreOneMonitorPerStream(t *testing.T) { // decision A5
	runTimeline(t, 8, 30*time.Second)
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprintf("at %d gateways", n), func(t *testing.T) {
			all := startGateways(t, n)
			same := newVideoID()
			got := createConcurrently(t, all, func(int) string { return same })
			if want := map[string]int{"201 <nil>": 1, "409 DUPLICATE_MONITOR": concurrentCreates - 1}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("of one stream: %v, want %v", got, want)
			}
			got = createConcurrently(t, all, func(int) string { return newVideoID() })
			if want := map[string]int{"201 <nil>": maxMonitors - 1, "429 MAX_MONITORS_EXCEEDED": concurrentCreates - maxMonitors + 1}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("of different streams: %v, want %v", got, want)
			}
		})
	}
}

// createBody returns the body of a registration.
func createBody(stream string) map[string]any {
	return map[string]any{"stream_url": "https://www.youtube.com/watch?v=" + stream, "callback_url": callback, "config": map[string]any{}}
}

func TestTwoGatewaysBehaveAsOne(t *testing.T) {
	runTimeline(t, 4, 20*time.Second)
	all := startGateways(t, 2, "RATE_LIMIT_CREATE_PER_MIN=4")
	call := func(i int, method, path string, body any, headers ...[2]string) system.Response {
		t.Helper()
		a, err := all[i%2].Call(t.Context(), method, path, body, headers...)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}

	// Three registrations under one idempotency key create one monitor (decision A9).
	key, stream := [2]string{"Idempotency-Key", "one-of-its-kind"}, newVideoID()
	var first system.Response
	for i := range 3 {
		a := call(i, http.MethodPost, "/api/v1/monitors", createBody(stream), key)
		switch {
		case a.Status != http.StatusCreated:
			t.Fatalf("create %d: %d %v", i, a.Status, a.Body)
		case i == 0:
			first = a
		case fmt.Sprint(a.Body) != fmt.Sprint(first.Body) || a.Header.Get("Idempotency-Replayed") != "true":
			t.Errorf("repeated: %v (replayed: %q), first: %v", a.Body, a.Header.Get("Idempotency-Replayed"), first.Body)
		}
	}
	path := fmt.Sprint("/api/v1/monitors/", first.Body["monitor_id"])
	list := call(1, http.MethodGet, "/api/v1/monitors", nil)
	if p, _ := list.Body["pagination"].(map[string]any); p["total"] != 1.0 {
		t.Errorf("after one create and two repeats the list is %v", list.Body)
	}

	// Both gateways share the limit of four a minute (section 12.3, decision A5).
	if a := call(1, http.MethodPost, "/api/v1/monitors", createBody(newVideoID())); a.Status != http.StatusCreated {
		t.Fatalf("the fourth create of the minute: %d %v", a.Status, a.Body)
	}
	for i := range 2 {
		a := call(i, http.MethodPost, "/api/v1/monitors", createBody(newVideoID()))
		e, _ := a.Body["error"].(map[string]any)
		after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		if a.Status != http.StatusTooManyRequests || e["code"] != "RATE_LIMIT_EXCEEDED" || after < 1 || after > 60 {
			t.Errorf("gateway %d, the fifth create of the minute: %d %v, Retry-After %q", i, a.Status, a.Body, a.Header.Get("Retry-After"))
		}
	}

	// A monitor of the first gateway is stopped at the second.
	worker := func() bool {
		for _, w := range all[0].Workers() {
			if w.Env("MONITOR_ID") == first.Body["monitor_id"] {
				return true
			}
		}
		return false
	}
	eventually(t, 20*time.Second, "a worker at the first gateway", worker)
	if a := call(1, http.MethodDelete, path, nil); a.Status != http.StatusOK || a.Body["status"] != "stopped" {
		t.Errorf("stopping: %d %v", a.Status, a.Body)
	}
	eventually(t, 40*time.Second, "no worker at the first gateway", func() bool { return !worker() })
	if a := call(0, http.MethodGet, path, nil); a.Body["status"] != "stopped" {
		t.Errorf("the first gateway says %v", a.Body)
	}
}

func TestAStoppingGatewayHandsItsMonitorsOver(t *testing.T) {
	runTimeline(t, 4, 15*time.Second)
	all := startGateways(t, 2)
	var ids []string
	for range 3 {
		id, err := all[0].Register(t.Context(), "https://www.youtube.com/watch?v="+newVideoID(), callback, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	has := func(s *system.Service) func() bool {
		return func() bool {
			at := map[string]bool{}
			for _, w := range s.Workers() {
				at[w.Env("MONITOR_ID")] = true
			}
			return at[ids[0]] && at[ids[1]] && at[ids[2]]
		}
	}
	here, there := has(all[0]), has(all[1])
	eventually(t, 30*time.Second, "workers at either", func() bool { return here() || there() })
	if err := all[0].Stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "workers at the gateway that stays", there)
}
