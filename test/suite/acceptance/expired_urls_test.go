package acceptance_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// renewalLimit is the longest time between two checks while expired URLs are replaced, on an
// idle machine: a run of yt-dlp, and the pause after an attempt that came too early. URLs that
// only the next renewal would replace have no check for renewalPause.
const renewalLimit = 10 * time.Second

// renewalPause is after which time the URLs of a stream are renewed at once, although the last
// two were refused soon (decision S7).
const renewalPause = 20 * time.Second

// expireURLs makes all media URLs of the stream expire, and waits until yt-dlp has
// been asked for new ones, which is when it returns. At least renewalPause has passed since
// the last renewal.
func (p *watchedStream) expireURLs() (renewed time.Time) {
	p.t.Helper()
	before, expired := p.resolutions(), time.Now()
	p.env.YouTube.ExpireNow(p.video)
	eventually(p.t, renewalLimit, "yt-dlp is asked again", func() bool { return p.resolutions() > before })
	p.t.Logf("yt-dlp was asked again %.1f s after the URLs expired", time.Since(expired).Seconds())
	return time.Now()
}

func TestURLsThatExpireDuringABlackoutDoNotDisturbIt(t *testing.T) { // decisions S2, S7
	runTimeline(t, 1, 95*time.Second)
	p := watchStream(t, shared, livestream.Config{}, nil)
	longest := p.measureGaps()
	before := p.resolutions()

	// The URLs expire before the alert is due, and again after it has been sent.
	black := p.Black(true)
	p.sleepUntil(black, 3*time.Second)
	renewed := p.expireURLs()
	alert := p.waitEvent(blackoutAlert, 60*time.Second)
	assertNear(t, "black: started_at", alert.Data.StartedAt, black, mediaTolerance)
	p.sleepUntil(renewed, renewalPause+renewalLimit)
	p.expireURLs()
	p.waitCheck(30 * time.Second)
	picture := p.Black(false)
	back := p.waitEvent(blackoutRecovered, 60*time.Second)
	assertNear(t, "black: recovered_at", back.Data.RecoveredAt, picture, mediaTolerance)
	assertNear(t, "black: started_at of the recovery", back.Data.StartedAt, black, mediaTolerance)

	if gap := longest(); gap > renewalLimit+busyMachine {
		t.Errorf("no check for %s", gap)
	} else {
		t.Logf("no longer than %s between checks", gap)
	}
	if n := p.resolutions() - before; n != 2 {
		t.Errorf("yt-dlp was asked %d times for two expiries", n)
	}
	p.endAndAssert(blackoutAlert, blackoutRecovered)
}

func TestURLsThatExpireRepeatedlyAreResolvedOnceEach(t *testing.T) { // decision S7
	runTimeline(t, 1, 3*(renewalPause+renewalLimit))
	p := watchStream(t, shared, livestream.Config{}, nil)
	longest := p.measureGaps()
	before := p.resolutions()
	const times = 3
	for i := range times {
		renewed := p.expireURLs()
		if i+1 < times {
			p.sleepUntil(renewed, renewalPause+renewalLimit)
		}
	}
	p.waitCheck(renewalLimit)
	if gap := longest(); gap > renewalLimit+busyMachine {
		t.Errorf("no check for %s", gap)
	} else {
		t.Logf("no longer than %s between checks", gap)
	}
	if n := p.resolutions() - before; n > times+1 {
		t.Errorf("yt-dlp was asked %d times for %d expiries", n, times)
	}
	p.assertBlackoutCycle(0)
	p.endAndAssert(blackoutAlert, blackoutRecovered)
}

func TestARefusedURLIsResolvedAgain(t *testing.T) { // decision S7: 401, 403, 404 and 410
	t.Parallel()
	for _, c := range []struct {
		part   youtube.Class
		status int
	}{
		{youtube.Playlist, 401}, {youtube.Segment, 403}, {youtube.Playlist, 404}, {youtube.Segment, 410},
	} {
		t.Run(fmt.Sprintf("%s %d", c.part, c.status), func(t *testing.T) {
			runTimeline(t, 1, 45*time.Second)
			p := watchStream(t, shared, livestream.Config{}, nil)
			before := p.resolutions()
			heal := shared.YouTube.Inject(c.part, p.video, 1, httpfault.Status(c.status))
			eventually(t, 15*time.Second, "yt-dlp is asked again", func() bool { return p.resolutions() > before })
			heal()
			p.waitCheck(renewalLimit)
			p.assertBlackoutCycle(0)
			p.endAndAssert(blackoutAlert, blackoutRecovered)
		})
	}
}
