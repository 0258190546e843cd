package acceptance_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// failurePoint is where a stream can fail, and what the alert calls it.
type failurePoint struct {
	name, failure string
	begin, end    func(*watchedStream, *lossySource)
}

// stallingFailures stop the data.
var stallingFailures = []failurePoint{
	{
		"the playlist", "stalled",
		func(p *watchedStream, _ *lossySource) { p.Freeze(true) },
		func(p *watchedStream, _ *lossySource) { p.Freeze(false) },
	},
	{
		"the server of the playlists", "manifest",
		func(p *watchedStream, _ *lossySource) { p.Fail(livestream.Playlists, httpfault.Hang()) },
		func(p *watchedStream, _ *lossySource) { p.Heal(livestream.Playlists) },
	},
	{
		"the server of the segments", "segment",
		func(p *watchedStream, _ *lossySource) { p.Fail(livestream.Segments, httpfault.Hang()) },
		func(p *watchedStream, _ *lossySource) { p.Heal(livestream.Segments) },
	},
}

// refusingFailures answer with something unusable.
var refusingFailures = []failurePoint{
	{
		"all segments answer 500", "segment",
		func(p *watchedStream, _ *lossySource) { p.Fail(livestream.Segments, httpfault.Status(500)) },
		func(p *watchedStream, _ *lossySource) { p.Heal(livestream.Segments) },
	},
	{
		"all renditions are gone, and still listed", "manifest",
		func(_ *watchedStream, s *lossySource) { s.setLost(false, livestream.Muxed144p, livestream.Muxed360p) },
		func(_ *watchedStream, s *lossySource) { s.setLost(false) },
	},
	{
		"all renditions are gone, and no longer listed", "manifest",
		func(_ *watchedStream, s *lossySource) { s.setLost(true, livestream.Muxed144p, livestream.Muxed360p) },
		func(_ *watchedStream, s *lossySource) { s.setLost(false) },
	},
}

// failingStream is a watched stream that fails at a point.
type failingStream struct {
	failurePoint
	*watchedStream
	source *lossySource
}

// startFailures watches a stream for each point, and makes all fail at once.
func startFailures(t *testing.T, points []failurePoint) (cases []failingStream, began time.Time) {
	t.Helper()
	for _, failurePoint := range points {
		p, source := watchLossyStream(t, livestream.Config{})
		cases = append(cases, failingStream{failurePoint, p, source})
	}
	began = time.Now()
	for _, c := range cases {
		c.begin(c.watchedStream, c.source)
	}
	return cases, began
}

func TestALongOutageIsReportedOnce(t *testing.T) { // sections 6.6 and 7.6, decision S6
	runOutageTimeline(t, 6, 170*time.Second)
	cases, began := startFailures(t, slices.Concat(stallingFailures, refusingFailures))
	for _, c := range cases {
		c.subtest(t, c.name, func(*testing.T) { c.waitOutageAlert(began, c.failure) })
	}
	cases[0].sleepUntil(began, 75*time.Second)
	for _, c := range cases {
		c.end(c.watchedStream, c.source)
	}
	for _, c := range cases {
		c.subtest(t, c.name+", no more", func(t *testing.T) {
			c.waitHealthy(75 * time.Second)
			if lengths := c.outageDurations(); len(lengths) == 0 || lengths[len(lengths)-1] < 70 {
				t.Errorf("the log reports outages of %v s as over", lengths)
			}
			c.goBlack()
		})
	}
	for _, c := range cases {
		c.subtest(t, c.name+", gone black", func(*testing.T) {
			c.assertBlackoutCycle(0)
			c.endAndAssert(outageAlert, blackoutAlert, blackoutRecovered)
		})
	}
}

func TestAShortOutageIsNotReported(t *testing.T) { // section 6.6
	runTimeline(t, 3, 80*time.Second)
	cases, began := startFailures(t, stallingFailures)
	sleep(t.Context(), 29*time.Second)
	for _, c := range cases {
		c.subtest(t, c.name+" after thirty seconds", func(t *testing.T) {
			if v := c.videoHealth(); v != "ok" {
				t.Errorf("the picture's health is %v", v)
			}
		})
	}
	cases[0].sleepUntil(began, 30*time.Second)
	for _, c := range cases {
		c.end(c.watchedStream, c.source)
		c.goBlack()
	}
	for _, c := range cases {
		c.subtest(t, c.name, func(t *testing.T) {
			c.assertBlackoutCycle(0)
			c.endAndAssert(blackoutAlert, blackoutRecovered)
			if n := c.resolutions(); n != 1 {
				t.Errorf("yt-dlp was asked %d times, want once, at the start", n)
			}
		})
	}
}
