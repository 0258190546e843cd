package acceptance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// outageThreshold is how long a live stream has no media before
// alert.segment_error (section 6.6).
const outageThreshold = 60 * time.Second

// outages are points at which a stream can fail. Single renditions and tracks: domain/watch.
var outages = []struct {
	name    string
	failure string // what the alert calls it
	part    livestream.Part
	fault   httpfault.Fault // nil: the playlist stands still
}{
	{"the playlist stands still", "stalled", "", nil},
	{"playlists hang", "manifest", livestream.Playlists, httpfault.Hang()},
	{"all renditions are gone", "manifest", livestream.Playlists, httpfault.Status(404)},
	{"segments hang", "segment", livestream.Segments, httpfault.Hang()},
	{"segments answer 500", "segment", livestream.Segments, httpfault.Status(500)},
}

// assertOutage waits for the alert of an outage that began at a time, and asserts on it as
// section 6.6 wants it.
func assertOutage(t *testing.T, s *scenario.Stream, failure string, began time.Time) {
	t.Helper()
	// On a busy machine an answer takes more than 10 s, so that the media are looked at again and the question is repeated (S6).
	e := s.WaitEvent(scenario.Outage, outageThreshold+20*time.Second+busyMachine)
	since := e.Received.Sub(e.Data.StartedAt)
	scenario.AssertNear(t, "started_at", e.Data.StartedAt, began, 5*time.Second+busyMachine)
	if duration := time.Duration(e.Data.DurationSec) * time.Second; since < outageThreshold || duration < outageThreshold || duration > since+time.Second {
		t.Errorf("alerted %s after started_at, duration_sec is %s", since, duration)
	}
	if e.Data.Failure != failure || e.Data.ThresholdSec != outageThreshold.Seconds() || e.Data.LastError == "" {
		t.Errorf("failure %q, threshold %v, last error %q; want failure %q", e.Data.Failure, e.Data.ThresholdSec, e.Data.LastError, failure)
	}
	if strings.Contains(e.Data.LastError, "expire/") || strings.Contains(e.Data.LastError, "?") {
		t.Errorf("last_error contains a signed URL: %s", e.Data.LastError)
	}
	if health := s.Health("video"); health != "unknown" {
		t.Errorf("the health of a picture that cannot be analysed is %v", health)
	}
}

func TestALongOutageIsReportedOnce(t *testing.T) { // sections 6.6 and 7.6, decision S6
	t.Parallel()
	all := make([]*scenario.Stream, len(outages))
	for i := range outages {
		all[i] = shared.Watch(t, scenario.Video{})
	}
	began := time.Now()
	for i, o := range outages {
		if o.fault == nil {
			all[i].Freeze(true)
		} else {
			all[i].Fail(o.part, o.fault)
		}
	}
	for i, o := range outages {
		all[i].Subtest(t, o.name, func(t *testing.T) { assertOutage(t, all[i], o.failure, began) })
	}
	all[0].SleepUntil(began, outageThreshold+15*time.Second)
	for i, o := range outages {
		if o.fault == nil {
			all[i].Freeze(false)
		} else {
			all[i].Heal(o.part)
		}
	}
	for i, o := range outages {
		all[i].Subtest(t, o.name+", no more", func(t *testing.T) {
			all[i].Eventually(t, 75*time.Second, "healthy", func() bool { return all[i].Health("video") == "ok" })
			all[i].GoBlack()
		})
	}
	for i, o := range outages {
		all[i].Subtest(t, o.name+", gone black", func(*testing.T) {
			all[i].AssertBlackoutCycle()
			all[i].EndAndAssert(scenario.Outage, scenario.Blackout, scenario.BlackoutRecovered)
		})
	}
}

// renewalLimit is the longest time until expired URLs are replaced, on an idle machine: a run of
// yt-dlp, and the pause after an attempt that came too early.
const renewalLimit = 10 * time.Second

// The URLs expire before the alert is due, and again after it has been sent.
func TestURLsThatExpireDuringABlackoutDoNotDisturbIt(t *testing.T) { // decisions S2, S7
	runTimeline(t, 1)
	s := shared.Watch(t, scenario.Video{})
	expire := func() {
		asked := s.Questions()
		s.YouTube.ExpireNow(s.Video)
		s.Eventually(t, renewalLimit, "yt-dlp is asked again", func() bool { return s.Questions() > asked })
		s.WaitChecks(1, renewalLimit)
	}
	s.GoBlack()
	s.SleepUntil(s.BlackAt, 3*time.Second)
	expire()
	renewed := time.Now()
	s.WaitEvent(scenario.Blackout, time.Minute)
	s.SleepUntil(renewed, 30*time.Second) // two that are refused soon are renewed later (decision S7)
	expire()
	s.AssertBlackoutCycle()
	if n := s.Questions(); n != 3 {
		t.Errorf("yt-dlp was asked %d times, want once at the start and for each expiry", n)
	}
	s.EndAndAssert(scenario.Blackout, scenario.BlackoutRecovered)
}
