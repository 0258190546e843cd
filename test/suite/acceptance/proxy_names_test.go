package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// behindProxy watches a stream through a relay as the HTTP proxy, which the tools
// and the worker's own client use (decision O8).
func behindProxy(t *testing.T) (*watchedStream, *relay) {
	t.Helper()
	r := newRelay()
	proxy := r.serveProxy(t)
	// The recording would be read without the proxy.
	env := startEnv(t, "YTDLP_PATH="+toolPath(t, "yt-dlp"), "HTTPS_PROXY="+proxy, "https_proxy="+proxy, "HTTP_PROXY="+proxy, "http_proxy="+proxy)
	r.forwardTo(env.YouTube.Proxy())
	return watchStream(t, env, livestream.Config{}, nil), r
}

func TestALongNameFailureAtTheProxyIsNoOutageOfTheStream(t *testing.T) { // section 7.2, decision S6
	runOutageTimeline(t, 1, 150*time.Second)
	p, r := behindProxy(t)
	r.refuse(504)
	began := time.Now()
	p.sleepUntil(began, 85*time.Second)
	assertEvents(t, p.env, p.id, "stream.started") // it is not known to be live
	if v := p.videoHealth(); v != "unknown" {
		t.Errorf("the health of a picture that cannot be analysed is %v", v)
	}
	eventually(t, 0, "the log says that the stream's state could not be learned", func() bool {
		return len(p.logLines("The stream's state could not be learned; the worker asks again")) > 0
	})
	p.sleepUntil(began, 90*time.Second)
	r.refuse(0)
	p.waitHealthy(75 * time.Second)
	p.assertBlackoutCycle(0)
	p.endAndAssert(blackoutAlert, blackoutRecovered)
}

func TestAShortNameFailureAtTheProxyHidesNoBlackout(t *testing.T) { // sections 6.6 and 7.2
	runOutageTimeline(t, 1, 65*time.Second)
	p, r := behindProxy(t)
	before := p.resolutions()
	r.refuse(502)
	began := time.Now()
	p.sleepUntil(began, 15*time.Second)
	black := p.Black(true) // while the media cannot be read
	p.sleepUntil(began, 30*time.Second)
	if v := p.videoHealth(); v != "ok" {
		t.Errorf("after thirty seconds the picture's health is %v", v)
	}
	r.refuse(0)
	alert := p.waitEvent(blackoutAlert, 45*time.Second)
	assertNear(t, "black: started_at", alert.Data.StartedAt, black, mediaTolerance)
	picture := p.Black(false)
	back := p.waitEvent(blackoutRecovered, 30*time.Second)
	assertNear(t, "black: recovered_at", back.Data.RecoveredAt, picture, mediaTolerance)
	if n := p.resolutions() - before; n != 0 {
		t.Errorf("yt-dlp asked YouTube %d times before that was due", n)
	}
	p.endAndAssert(blackoutAlert, blackoutRecovered)
}
