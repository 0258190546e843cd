package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// An outage is not reported before the stream is known to be live. Media that
// return prove that it was.
func TestAnUnconfirmedOutageIsReportedWhenMediaReturn(t *testing.T) { // decision S6
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
	healed := time.Now()
	p.Heal(livestream.Playlists)
	e := p.waitEvent(outageAlert, 75*time.Second) // two attempts are at most a minute apart
	assertNear(t, "started_at", e.Data.StartedAt, began, 5*time.Second)
	if e.Data.Failure != "manifest" {
		t.Errorf("failure %q", e.Data.Failure)
	}
	assertCountedUntil(t, e, healed)
	if n := len(p.logLines("The stream's state could not be learned; the worker asks again")); n == 0 {
		t.Error("the log does not say that the stream's state could not be learned")
	}
	p.waitHealthy(10 * time.Second)
	p.assertBlackoutCycle(0)
	p.endAndAssert(outageAlert, blackoutAlert, blackoutRecovered)
}
