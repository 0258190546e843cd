package acceptance_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// renewal is the longest time between two checks while expired URLs are
// replaced: an interval, a run of yt-dlp on a busy machine, and the pause after
// a retry that came before its answer. On an idle one it is below 5 s.
const renewal = 22 * time.Second

// expire makes all media URLs expire, and waits for yt-dlp to be asked at once.
func (p *show) expire() {
	p.t.Helper()
	before := p.asked()
	p.stage.YouTube.ExpireNow(p.video)
	eventually(p.t, 10*time.Second, "asked again", func() bool { return p.asked() > before })
}

func TestTroubleWithURLsThatExpireInTheDark(t *testing.T) { // S7, S2
	t.Parallel()
	p := onAir(t, common, livestream.Config{}, nil)
	longest := p.gaps()
	before := p.asked()

	// Before the alert is due, and again after it has been told.
	black := p.Black(true)
	p.lasts(black, 3*time.Second)
	p.expire()
	alert := p.arrives(blackout, 60*time.Second)
	near(t, "black: started_at", alert.Data.StartedAt, black, exact)
	p.expire()
	p.checked(30 * time.Second)
	picture := p.Black(false)
	back := p.arrives(recovered, 60*time.Second)
	near(t, "black: recovered_at", back.Data.RecoveredAt, picture, exact)
	near(t, "black: started_at of the recovery", back.Data.StartedAt, black, exact)

	if gap := longest(); gap > renewal {
		t.Errorf("there was no check for %s", gap)
	} else {
		t.Logf("no longer than %s between checks", gap)
	}
	if n := p.asked() - before; n != 2 {
		t.Errorf("yt-dlp was asked %d times for two expiries", n)
	}
	p.ends(blackout, recovered)
}

func TestTroubleWithURLsThatExpireAllTheTime(t *testing.T) { // S7
	t.Parallel()
	p := onAir(t, common, livestream.Config{}, nil)
	longest := p.gaps()
	before := p.asked()
	const times = 4
	for range times {
		began := time.Now()
		p.expire()
		p.lasts(began, 15*time.Second)
	}
	p.checked(renewal)
	if gap := longest(); gap > renewal {
		t.Errorf("there was no check for %s", gap)
	} else {
		t.Logf("no longer than %s between checks", gap)
	}
	if n := p.asked() - before; n > times+1 {
		t.Errorf("yt-dlp was asked %d times for %d expiries", n, times)
	}
	p.blackout(0)
	p.ends(blackout, recovered)
}

func TestTroubleWithURLsThatAreRefusedOnce(t *testing.T) { // S7: 401, 403, 404, 410
	t.Parallel()
	for _, c := range []struct {
		part   youtube.Class
		status int
	}{
		{youtube.Playlist, 401}, {youtube.Segment, 403}, {youtube.Playlist, 404}, {youtube.Segment, 410},
	} {
		t.Run(fmt.Sprintf("%s %d", c.part, c.status), func(t *testing.T) {
			t.Parallel()
			p := onAir(t, common, livestream.Config{}, nil)
			before := p.asked()
			heal := common.YouTube.Inject(c.part, p.video, 1, httpfault.Status(c.status))
			eventually(t, 15*time.Second, "asked again", func() bool { return p.asked() > before })
			heal()
			p.checked(renewal)
			p.blackout(0)
			p.ends(blackout, recovered)
		})
	}
}
