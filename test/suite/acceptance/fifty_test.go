package acceptance_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// TestFiftyWorkersOutliveTheirGateway has the machine to itself: fifty yt-dlp
// take it for a minute.
func TestFiftyWorkersOutliveTheirGateway(t *testing.T) { // O4, section 8.5
	const (
		interval = 5 * time.Second
		adoption = 2 * time.Second
	)
	s := own(t)
	stream, err := s.StartStream(t.Context(), video(), livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range maximum {
		v := video()
		s.YouTube.Add(v, youtube.Video{State: youtube.Live, Source: stream})
		register(t, s, v, map[string]any{"check_interval_sec": interval.Seconds()})
	}
	look := func() map[string]time.Time {
		t.Helper()
		checked := map[string]time.Time{}
		a, err := s.Service.Call(t.Context(), http.MethodGet, "/api/v1/monitors?limit=200&status=monitoring", nil)
		if err != nil {
			return checked // the gateway is away
		}
		all, _ := a.Body["monitors"].([]any)
		for _, m := range all {
			m, _ := m.(map[string]any)
			id, _ := m["monitor_id"].(string)
			one, err := s.Service.Monitor(t.Context(), id)
			if err != nil {
				continue
			}
			health, _ := one["health"].(map[string]any)
			text, _ := health["last_check_at"].(string)
			if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
				checked[id] = at
			}
		}
		return checked
	}
	eventually(t, 3*time.Minute, "fifty streams watched", func() bool { return len(look()) == maximum })

	// Every check that a monitor shows, from before the death until long after.
	last, widest := look(), time.Duration(0)
	note := func() {
		for id, at := range look() {
			widest = max(widest, at.Sub(last[id]))
			last[id] = at
		}
	}
	for end := time.Now().Add(2 * interval); time.Now().Before(end); {
		note()
	}
	usual := widest
	if err := s.KillAndRestart(t.Context(), testenv.Config{Binary: binary}); err != nil {
		t.Fatal(err)
	}
	line := report(t, s)
	took := line.Timestamp.Sub(s.Service.StartedAt())
	t.Logf("all %v adopted %.2f s after the gateway was started again: %s", line.Data["adopted"], took.Seconds(), line.Raw)
	if line.Data["adopted"] != float64(maximum) || took > adoption {
		t.Errorf("adopted %v within %s, want %d within %s", line.Data["adopted"], took, maximum, adoption)
	}
	for end := time.Now().Add(3 * interval); time.Now().Before(end); {
		note()
	}
	t.Logf("between two checks of one stream: at most %.1f s before, %.1f s in all", usual.Seconds(), widest.Seconds())
	if widest > 2*interval+time.Second {
		t.Errorf("a stream was not looked at for %s", widest)
	}
}
