package acceptance_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// outageThreshold is how long a live stream has no media before
// alert.segment_error (section 6.6).
const outageThreshold = 60 * time.Second

// lossySource is a source that loses single renditions.
type lossySource struct {
	youtube.Source
	mu       sync.Mutex
	lost     map[int]bool // itags that answer 404
	unlisted map[int]bool // itags that the master playlist leaves out
}

// setLost loses renditions, and takes them off the master playlist if unlisted,
// until the next call.
func (s *lossySource) setLost(unlisted bool, lost ...livestream.Rendition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost, s.unlisted = map[int]bool{}, map[int]bool{}
	for _, r := range lost {
		s.lost[r.Itag] = true
	}
	if unlisted {
		s.unlisted = maps.Clone(s.lost)
	}
}

func (s *lossySource) Renditions() []livestream.Rendition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.Source.Renditions(), func(r livestream.Rendition) bool { return s.unlisted[r.Itag] })
}

func (s *lossySource) Playlist(itag int) (livestream.Playlist, error) {
	if s.isLost(itag) {
		return livestream.Playlist{}, livestream.ErrNotFound
	}
	return s.Source.Playlist(itag)
}

func (s *lossySource) Segment(ctx context.Context, itag int, sequence uint64) ([]byte, error) {
	if s.isLost(itag) {
		return nil, livestream.ErrNotFound
	}
	return s.Source.Segment(ctx, itag, sequence)
}

func (s *lossySource) isLost(itag int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost[itag]
}

// outage is a stream that fails at a point.
type outage struct {
	*scenario.Stream
	source  *lossySource
	name    string
	failure string // what the alert calls it
	track   string // that is lost
}

// startOutages watches a stream for each point where it can fail, and makes all fail at once.
func startOutages(t *testing.T) (all []outage, began time.Time) {
	t.Helper()
	refuse := func(part livestream.Part, f httpfault.Fault) func(o outage) {
		return func(o outage) { o.Fail(part, f) }
	}
	lose := func(unlisted bool, lost ...livestream.Rendition) func(o outage) {
		return func(o outage) { o.source.setLost(unlisted, lost...) }
	}
	var begin []func(o outage)
	for _, c := range []struct {
		outage
		begin func(o outage)
	}{
		{outage{name: "the playlist stands still", failure: "stalled"}, func(o outage) { o.Freeze(true) }},
		{outage{name: "playlists hang", failure: "manifest"}, refuse(livestream.Playlists, httpfault.Hang())},
		{outage{name: "segments hang", failure: "segment"}, refuse(livestream.Segments, httpfault.Hang())},
		{outage{name: "segments answer 500", failure: "segment"}, refuse(livestream.Segments, httpfault.Status(500))},
		{outage{name: "all renditions are gone, and still listed", failure: "manifest"}, lose(false, livestream.Muxed144p, livestream.Muxed360p)},
		{outage{name: "all renditions are gone, and no longer listed", failure: "manifest"}, lose(true, livestream.Muxed144p, livestream.Muxed360p)},
		{outage{name: "the sound alone is gone", failure: "manifest", track: "audio"}, lose(false, livestream.AudioOnly)},
	} {
		o, config := c.outage, livestream.Config{}
		o.source = &lossySource{}
		if o.track == "" {
			o.track = "video"
		} else {
			config.Renditions = []livestream.Rendition{livestream.Video144p, livestream.AudioOnly}
		}
		o.Stream = shared.Watch(t, scenario.Video{Config: config, Wrap: func(s *livestream.Stream) youtube.Source {
			o.source.Source = s
			return o.source
		}})
		all, begin = append(all, o), append(begin, c.begin)
	}
	began = time.Now()
	for i, o := range all {
		begin[i](o)
	}
	return all, began
}

// end ends the failure, whatever it is.
func (o outage) end() {
	o.Freeze(false)
	o.Heal(livestream.Playlists)
	o.Heal(livestream.Segments)
	o.source.setLost(false)
}

// assertAlert waits for the alert of an outage that began at a time, and asserts on it as
// section 6.6 wants it.
func (o outage) assertAlert(t *testing.T, began time.Time) {
	t.Helper()
	// On a busy machine an answer takes more than 10 s, so that the media are looked at again and the question is repeated (S6).
	e := o.WaitEvent(scenario.Outage, outageThreshold+20*time.Second+busyMachine)
	since := e.Received.Sub(e.Data.StartedAt)
	scenario.AssertNear(t, "started_at", e.Data.StartedAt, began, 5*time.Second+busyMachine)
	if duration := time.Duration(e.Data.DurationSec) * time.Second; since < outageThreshold || duration < outageThreshold || duration > since+time.Second {
		t.Errorf("alerted %s after started_at, duration_sec is %s", since, duration)
	}
	if e.Data.Failure != o.failure || e.Data.ThresholdSec != outageThreshold.Seconds() || e.Data.LastError == "" {
		t.Errorf("failure %q, threshold %v, last error %q; want failure %q", e.Data.Failure, e.Data.ThresholdSec, e.Data.LastError, o.failure)
	}
	if strings.Contains(e.Data.LastError, "expire/") || strings.Contains(e.Data.LastError, "?") {
		t.Errorf("last_error contains a signed URL: %s", e.Data.LastError)
	}
	if health := o.Health(o.track); health != "unknown" {
		t.Errorf("the health of %s that cannot be analysed is %v", o.track, health)
	}
}

func TestALongOutageIsReportedOnce(t *testing.T) { // sections 6.6 and 7.6, decision S6
	runTimeline(t, 7)
	all, began := startOutages(t)
	for _, o := range all {
		o.Subtest(t, o.name, func(t *testing.T) { o.assertAlert(t, began) })
	}
	all[0].SleepUntil(began, outageThreshold+15*time.Second)
	for _, o := range all {
		o.end()
	}
	for _, o := range all {
		o.Subtest(t, o.name+", no more", func(t *testing.T) {
			o.Eventually(t, 75*time.Second, "healthy", func() bool { return o.Health(o.track) == "ok" })
			o.GoBlack()
		})
	}
	for _, o := range all {
		o.Subtest(t, o.name+", gone black", func(*testing.T) {
			o.AssertBlackoutCycle()
			o.EndAndAssert(scenario.Outage, scenario.Blackout, scenario.BlackoutRecovered)
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
