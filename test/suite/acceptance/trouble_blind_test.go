package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// An outage that cannot be judged is told when media flow again: that they do is
// the proof that the stream was live.
func TestTroubleThatNobodyCanJudge(t *testing.T) { // S6
	t.Parallel()
	p := onAir(t, common, livestream.Config{}, nil)
	began := time.Now()
	p.Fail(livestream.Playlists, httpfault.Status(503))
	common.YouTube.Set(p.video, youtube.BotCheck)
	p.lasts(began, outage+15*time.Second)
	only(t, common, p.id, "stream.started")
	if v := p.health(); v != "unknown" {
		t.Errorf("while nothing can be seen the picture is said to be %v", v)
	}
	p.Heal(livestream.Playlists)
	e := p.arrives(broke, 75*time.Second) // a minute is the longest pause between two tries
	near(t, "started_at", e.Data.StartedAt, began, 5*time.Second)
	if e.Data.Failure != "manifest" || e.Data.DurationSec < (outage+15*time.Second).Seconds() {
		t.Errorf("failure %q, %v s", e.Data.Failure, e.Data.DurationSec)
	}
	if n := len(p.logged("The stream's state could not be learned")); n == 0 {
		t.Error("the log does not say that the stream's state could not be learned")
	}
	p.healthy(10 * time.Second)
	p.blackout(0)
	p.ends(broke, blackout, recovered)
}
