package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// behindProxy sets a stage whose way to YouTube leads through a proxy of ours,
// for the tools and the media alike (O8).
func behindProxy(t *testing.T) (*show, *gate) {
	t.Helper()
	g := newGate()
	proxy := g.serveProxy(t)
	s := own(t, "HTTPS_PROXY="+proxy, "https_proxy="+proxy, "HTTP_PROXY="+proxy, "http_proxy="+proxy)
	g.leads(s.YouTube.Proxy())
	return onAir(t, s, livestream.Config{}, nil), g
}

func TestTroubleWithNamesBehindAProxyForTooLong(t *testing.T) { // 7.2, S6
	t.Parallel()
	p, g := behindProxy(t)
	g.unresolving(504)
	began := time.Now()
	p.lasts(began, 85*time.Second)
	only(t, p.stage, p.id, "stream.started") // nobody has said that it is live
	if v := p.health(); v != "unknown" {
		t.Errorf("while nothing can be seen the picture is said to be %v", v)
	}
	if n := len(p.logged("The stream's state could not be learned")); n == 0 {
		t.Error("the log does not say that the stream's state could not be learned")
	}
	p.lasts(began, 90*time.Second)
	g.unresolving(0)
	e := p.broken(began, "manifest", 90*time.Second+45*time.Second)
	if e.Data.DurationSec < 90 {
		t.Errorf("told as %v s long", e.Data.DurationSec)
	}
	p.healthy(30 * time.Second)
	p.blackout(0)
	p.ends(broke, blackout, recovered)
}

func TestTroubleWithNamesBehindAProxyForAWhile(t *testing.T) { // 7.2, 6.6
	t.Parallel()
	p, g := behindProxy(t)
	before := p.asked()
	g.unresolving(502)
	began := time.Now()
	p.lasts(began, 15*time.Second)
	black := p.Black(true) // which nobody can see
	p.lasts(began, 30*time.Second)
	if v := p.health(); v != "ok" {
		t.Errorf("after half a minute the picture is said to be %v", v)
	}
	g.unresolving(0)
	alert := p.arrives(blackout, 45*time.Second)
	near(t, "black: started_at", alert.Data.StartedAt, black, exact)
	picture := p.Black(false)
	back := p.arrives(recovered, 30*time.Second)
	near(t, "black: recovered_at", back.Data.RecoveredAt, picture, exact)
	if n := p.asked() - before; n != 0 {
		t.Errorf("yt-dlp asked YouTube %d times about what is not due yet", n)
	}
	p.ends(blackout, recovered)
}
