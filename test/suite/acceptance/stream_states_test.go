package acceptance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

func TestAnInaccessibleVideoEndsTheMonitor(t *testing.T) { // section 7.2
	t.Parallel()
	for _, c := range []struct {
		state  youtube.State
		reason string
	}{
		{youtube.Private, "video_private"},
		{youtube.Removed, "video_unavailable"},
		{youtube.Unavailable, "video_unavailable"},
		{youtube.Region, "region_locked"},
		{youtube.Age, "age_restricted"},
		{youtube.Members, "members_only"},
		{youtube.Ordinary, "not_a_live_stream"},
	} {
		t.Run(string(c.state), func(t *testing.T) {
			runTimeline(t, 1, 8*time.Second)
			v := newVideoID()
			shared.YouTube.Add(v, youtube.Video{State: c.state})
			id := register(t, shared, v, nil)
			e := waitEvent(t, shared, id, "monitor.error", 60*time.Second)
			if e.Data.Reason != c.reason || !e.Data.Terminal || e.Data.ErrorDetails == "" {
				t.Errorf("reason %q, terminal %v, details %q; want reason %q", e.Data.Reason, e.Data.Terminal, e.Data.ErrorDetails, c.reason)
			}
			waitStatus(t, shared, id, "error", 5*time.Second)
			waitNoWorker(t, shared, id)
			assertEvents(t, shared, id, "monitor.error")
		})
	}
}

func TestAStreamThatHasEndedCompletesTheMonitor(t *testing.T) { // section 7.2
	t.Parallel()
	for _, state := range []youtube.State{youtube.Ended, youtube.PostLive, youtube.Archived, youtube.NoRecording} {
		t.Run(string(state), func(t *testing.T) {
			runTimeline(t, 1, 8*time.Second)
			v := newVideoID()
			shared.YouTube.Add(v, youtube.Video{State: state})
			id := register(t, shared, v, nil)
			if e := waitEvent(t, shared, id, "stream.ended", 60*time.Second); e.Data.Reason != "not_live" || e.Data.DurationSec != 0 {
				t.Errorf("reason %q, %v s", e.Data.Reason, e.Data.DurationSec)
			}
			waitStatus(t, shared, id, "completed", 5*time.Second)
			waitNoWorker(t, shared, id)
			assertEvents(t, shared, id, "stream.ended")
		})
	}
}

func TestADelayedStreamIsReportedOnce(t *testing.T) { // sections 7.3 and 7.5
	t.Parallel()
	for _, state := range []youtube.State{youtube.Upcoming, youtube.Premiere, youtube.Offline} {
		t.Run(string(state), func(t *testing.T) {
			runTimeline(t, 1, 40*time.Second)
			v := newVideoID()
			shared.YouTube.Add(v, youtube.Video{State: state})
			id := register(t, shared, v, map[string]any{
				"scheduled_start_time": time.Now().Add(-time.Minute).Format(time.RFC3339), "start_delay_tolerance_sec": 30,
			})
			e := waitEvent(t, shared, id, "stream.delayed", 60*time.Second)
			if e.Data.DelaySec < 60 || e.Data.ToleranceSec != 30 {
				t.Errorf("delay %v, tolerance %v", e.Data.DelaySec, e.Data.ToleranceSec)
			}
			m := waitStatus(t, shared, id, "waiting", 5*time.Second)
			if m["stream_status"] != "upcoming" {
				t.Errorf("stream_status %v", m["stream_status"])
			}
			// Two more polls send no other event.
			asked := shared.YouTube.Count(youtube.Watch, v)
			eventually(t, 60*time.Second, "two more polls", func() bool { return shared.YouTube.Count(youtube.Watch, v) >= asked+2 })
			assertEvents(t, shared, id, "stream.delayed")
		})
	}
}

func TestAnUnknownStreamStateIsLoggedAndPolledAgain(t *testing.T) { // decision S15
	t.Parallel()
	for state, logged := range map[youtube.State]string{youtube.BotCheck: "blocked", youtube.RateLimited: "rate_limited", youtube.Captcha: "blocked"} {
		t.Run(string(state), func(t *testing.T) {
			runOutageTimeline(t, 1, 60*time.Second)
			v := newVideoID()
			shared.YouTube.Add(v, youtube.Video{State: state})
			id := register(t, shared, v, fastConfig())
			line, err := shared.Service.WaitLog(timeoutContext(t, 60*time.Second), func(l system.Line) bool {
				return l.MonitorID == id && l.Level == "WARN" && l.Data["state"] == logged
			})
			if err != nil {
				t.Fatal(err)
			}
			if detail, _ := line.Data["detail"].(string); detail == "" {
				t.Errorf("the log does not have YouTube's words: %s", line.Raw)
			}
			waitStatus(t, shared, id, "waiting", 5*time.Second)
			assertEvents(t, shared, id)
			// The stream is watched as soon as its state is known.
			stream, err := shared.StartStream(t.Context(), v, livestream.Config{})
			if err != nil {
				t.Fatal(err)
			}
			waitEvent(t, shared, id, "stream.started", startTimeout+30*time.Second)
			stream.End()
			waitEvent(t, shared, id, "stream.ended", 30*time.Second)
			assertEvents(t, shared, id, "stream.started", "stream.ended")
		})
	}
}

func TestAStreamThatStopsWithoutEndlistIsEnded(t *testing.T) { // section 7.6, decision S6
	runOutageTimeline(t, 1, 85*time.Second)
	v := newVideoID()
	stream, err := shared.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	id := register(t, shared, v, fastConfig())
	waitEvent(t, shared, id, "stream.started", startTimeout)
	end := stream.Stop()
	shared.YouTube.Set(v, youtube.Ended)
	e := waitEvent(t, shared, id, "stream.ended", 120*time.Second)
	assertNear(t, "ended_at", e.Data.EndedAt, end, mediaTolerance)
	if after := e.Received.Sub(end); after < 55*time.Second || after > 80*time.Second+busyMachine {
		t.Errorf("reported %s after the end; 60 s and a run of yt-dlp were due", after)
	}
	waitStatus(t, shared, id, "completed", 5*time.Second)
	assertEvents(t, shared, id, "stream.started", "stream.ended")
}

func TestAnOutageIsReportedAfterAMinute(t *testing.T) { // sections 6.6 and 7.6, decisions S6 and S7
	t.Parallel()
	for name, c := range map[string]struct {
		failure string
		begin   func(v string, s *livestream.Stream) (end func())
	}{
		"a playlist that stands still": {"stalled", func(_ string, s *livestream.Stream) func() {
			s.Freeze(true)
			return func() { s.Freeze(false) }
		}},
		"a playlist that answers 503": {"manifest", func(_ string, s *livestream.Stream) func() {
			s.Fail(livestream.Playlists, httpfault.Status(503))
			return func() { s.Heal(livestream.Playlists) }
		}},
		"segments that answer 404": {"segment", func(_ string, s *livestream.Stream) func() {
			s.Fail(livestream.Segments, httpfault.Status(404))
			return func() { s.Heal(livestream.Segments) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			runOutageTimeline(t, 1, 140*time.Second)
			v := newVideoID()
			stream, err := shared.StartStream(t.Context(), v, livestream.Config{})
			if err != nil {
				t.Fatal(err)
			}
			id := register(t, shared, v, fastConfig())
			waitEvent(t, shared, id, "stream.started", startTimeout)
			began := time.Now()
			end := c.begin(v, stream)
			e := waitEvent(t, shared, id, "alert.segment_error", 120*time.Second)
			if e.Data.Failure != c.failure || e.Data.ThresholdSec != 60 || e.Data.DurationSec < 60 || e.Data.LastError == "" {
				t.Errorf("failure %q, threshold %v, duration %v, last error %q", e.Data.Failure, e.Data.ThresholdSec, e.Data.DurationSec, e.Data.LastError)
			}
			assertNear(t, "started_at", e.Data.StartedAt, began, 4*time.Second+busyMachine)
			if strings.Contains(e.Data.LastError, "expire/") || strings.Contains(e.Data.LastError, "?") {
				t.Errorf("last_error contains a signed URL: %s", e.Data.LastError)
			}
			if m := waitStatus(t, shared, id, "monitoring", time.Second); m["health"].(map[string]any)["video"] != "unknown" {
				t.Errorf("health while the media cannot be analysed: %v", m["health"])
			}
			end()
			eventually(t, 90*time.Second, "healthy again", func() bool {
				m, err := shared.Service.Monitor(t.Context(), id)
				return err == nil && m["health"].(map[string]any)["video"] == "ok"
			})
			stream.End()
			waitEvent(t, shared, id, "stream.ended", 30*time.Second)
			assertEvents(t, shared, id, "stream.started", "alert.segment_error", "stream.ended")
		})
	}
}

func TestExpiredURLsAreResolvedAgainAtOnce(t *testing.T) { // decision S7
	runTimeline(t, 1, 30*time.Second)
	v := newVideoID()
	stream, err := shared.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	id := register(t, shared, v, fastConfig())
	waitEvent(t, shared, id, "stream.started", startTimeout)
	asked := shared.YouTube.Count(youtube.Watch, v)
	shared.YouTube.ExpireNow(v)
	eventually(t, 30*time.Second, "yt-dlp is asked again", func() bool { return shared.YouTube.Count(youtube.Watch, v) > asked })
	before := checks(t, shared, id)
	eventually(t, 30*time.Second, "a check", func() bool { return checks(t, shared, id) > before })
	black := stream.Black(true)
	e := waitEvent(t, shared, id, "alert.blackout", 60*time.Second)
	assertNear(t, "started_at", e.Data.StartedAt, black, mediaTolerance)
	stream.End()
	waitEvent(t, shared, id, "stream.ended", 30*time.Second)
	assertEvents(t, shared, id, "stream.started", "alert.blackout", "stream.ended")
}
