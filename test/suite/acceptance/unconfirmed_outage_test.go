package acceptance_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// An outage is not reported before the stream is known to be live, nor once it is over.
func TestAnUnconfirmedOutageThatIsOverIsNotReported(t *testing.T) { // decision S6
	runOutageTimeline(t, 1, 170*time.Second)
	p := watchStream(t, shared, livestream.Config{}, nil)
	began := time.Now()
	p.Fail(livestream.Playlists, httpfault.Status(503))
	shared.YouTube.Set(p.video, youtube.BotCheck)
	p.sleepUntil(began, outageThreshold+15*time.Second)
	assertEvents(t, shared, p.id, "stream.started")
	if v := p.videoHealth(); v != "unknown" {
		t.Errorf("the health of a picture that cannot be analysed is %v", v)
	}
	eventually(t, 0, "the log says that the stream's state could not be learned", func() bool {
		return len(p.logLines("The stream's state could not be learned; the worker asks again")) > 0
	})
	p.Heal(livestream.Playlists)
	p.waitHealthy(75 * time.Second) // two attempts are at most a minute apart
	p.assertBlackoutCycle(0)
	p.endAndAssert(blackoutAlert, blackoutRecovered)
}

// YouTube refuses page, player, playlists and segments for longer than it takes to be blind.
func TestARefusalOfEverythingIsBlindnessAlone(t *testing.T) { // decisions S6, S15, S20
	runOutageTimeline(t, 3, 450*time.Second)
	env := startEnv(t) // of its own, so that all that it watches is refused
	started := time.Now()
	var streams []*watchedStream
	for range 3 {
		streams = append(streams, watchStream(t, env, livestream.Config{}, nil))
	}
	began := time.Now()
	var heal []func()
	for i, p := range streams {
		env.YouTube.Set(p.video, youtube.BotCheck)
		status := []int{http.StatusForbidden, http.StatusTooManyRequests, http.StatusUnauthorized}[i]
		for _, class := range []youtube.Class{youtube.Manifest, youtube.Playlist, youtube.Segment} {
			heal = append(heal, env.YouTube.Inject(class, p.video, 0, httpfault.Status(status)))
		}
	}
	eventually(t, 90*time.Second, "the checker says why it sees none of them", func() bool {
		spot, _ := callOK(t, env, http.MethodGet, "/api/v1/service", nil)["blind_spot"].(map[string]any)
		return spot["monitors"] == 3.0 && spot["watched"] == 3.0 && spot["class"] == "refused"
	})
	streams[0].sleepUntil(began, 340*time.Second)
	spot, _ := callOK(t, env, http.MethodGet, "/api/v1/service", nil)["blind_spot"].(map[string]any)
	if spot == nil {
		t.Error("the checker does not say any more why it sees none of them")
	}
	for _, p := range streams {
		p.waitIncident(30*time.Second, "open blind+")
		env.YouTube.Set(p.video, youtube.Live)
	}
	for _, h := range heal {
		h()
	}
	for _, p := range streams {
		p.subtest(t, p.video, func(t *testing.T) {
			p.waitHealthy(75 * time.Second)
			p.waitIncident(30*time.Second, "open blind-")
			assertEvents(t, env, p.id, "stream.started", "monitor.error")
			total, _ := callOK(t, env, http.MethodGet, "/api/v1/statistics?by=hour&monitor_id="+p.id, nil)["total"].(map[string]any)
			s, _ := total["seconds"].(map[string]any)
			watched, _ := s["watched"].(float64)
			blind, _ := s["blind"].(float64)
			if s["out"] != 0.0 || blind < 300 || watched > time.Since(started).Seconds()-blind+60 {
				t.Errorf("the totals are %v", s)
			}
		})
	}
}
