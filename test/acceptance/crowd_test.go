package acceptance_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/system"
)

const (
	crowd    = 200 // creates at once
	maximum  = 50  // MAX_MONITORS
	callback = "http://127.0.0.1:9/hook"
)

// gateways starts n gateways on one database. Their workers find no tool.
func gateways(t *testing.T, n int) (all []*system.System) {
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
			Env: []string{"DB_DSN=" + db.DSN(), "MAX_MONITORS=" + strconv.Itoa(maximum), "YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true"},
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

// rush makes as many creates as the crowd at once, over the gateways in turn,
// and counts the answers by status and code.
func rush(t *testing.T, to []*system.System, stream func(i int) string) map[string]int {
	t.Helper()
	answers := make([]system.Answer, crowd)
	var all sync.WaitGroup
	for i := range crowd {
		all.Go(func() {
			var err error
			answers[i], err = to[i%len(to)].Call(t.Context(), http.MethodPost, "/api/v1/monitors",
				map[string]any{"stream_url": stream(i), "callback_url": callback, "config": map[string]any{}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	counted := map[string]int{}
	for _, a := range answers {
		e, _ := a.Body["error"].(map[string]any)
		counted[fmt.Sprintf("%d %v", a.Status, e["code"])]++
		after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		if limited := a.Status == http.StatusTooManyRequests; limited != (after > 0) {
			t.Errorf("a %d says Retry-After: %q", a.Status, a.Header.Get("Retry-After"))
		}
	}
	return counted
}

func TestACrowdOfCreates(t *testing.T) { // A5
	t.Parallel()
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprintf("at %d gateways", n), func(t *testing.T) {
			all := gateways(t, n)
			same := video()
			got := rush(t, all, func(int) string { return "https://www.youtube.com/watch?v=" + same })
			if want := map[string]int{"201 <nil>": 1, "409 DUPLICATE_MONITOR": crowd - 1}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("of one stream: %v, want %v", got, want)
			}
			got = rush(t, all, func(int) string { return "https://www.youtube.com/watch?v=" + video() })
			if want := map[string]int{"201 <nil>": maximum - 1, "429 MAX_MONITORS_EXCEEDED": crowd - maximum + 1}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("of different streams: %v, want %v", got, want)
			}
		})
	}
}
