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

func TestStreamsThatCannotBeWatched(t *testing.T) { // 7.2
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
			t.Parallel()
			v := video()
			common.YouTube.Add(v, youtube.Video{State: c.state})
			id := register(t, common, v, nil)
			e := arrives(t, common, id, "monitor.error", 60*time.Second)
			if e.Data.Reason != c.reason || !e.Data.Terminal || e.Data.ErrorDetails == "" {
				t.Errorf("reason %q, terminal %v, details %q; want reason %q", e.Data.Reason, e.Data.Terminal, e.Data.ErrorDetails, c.reason)
			}
			becomes(t, common, id, "error", 5*time.Second)
			gone(t, common, id)
			only(t, common, id, "monitor.error")
		})
	}
}

func TestAStreamThatHasEnded(t *testing.T) { // 7.2
	for _, state := range []youtube.State{youtube.Ended, youtube.PostLive, youtube.Archived, youtube.NoRecording} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			v := video()
			common.YouTube.Add(v, youtube.Video{State: state})
			id := register(t, common, v, nil)
			if e := arrives(t, common, id, "stream.ended", 60*time.Second); e.Data.Reason != "not_live" || e.Data.DurationSec != 0 {
				t.Errorf("reason %q, %v s", e.Data.Reason, e.Data.DurationSec)
			}
			becomes(t, common, id, "completed", 5*time.Second)
			gone(t, common, id)
			only(t, common, id, "stream.ended")
		})
	}
}

func TestAStreamThatNeverStarts(t *testing.T) { // 7.3, 7.5
	t.Parallel()
	for _, state := range []youtube.State{youtube.Upcoming, youtube.Premiere, youtube.Offline} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			v := video()
			common.YouTube.Add(v, youtube.Video{State: state})
			id := register(t, common, v, map[string]any{
				"scheduled_start_time": time.Now().Add(-time.Minute).Format(time.RFC3339), "start_delay_tolerance_sec": 30,
			})
			e := arrives(t, common, id, "stream.delayed", 60*time.Second)
			if e.Data.DelaySec < 60 || e.Data.ToleranceSec != 30 {
				t.Errorf("delay %v, tolerance %v", e.Data.DelaySec, e.Data.ToleranceSec)
			}
			m := becomes(t, common, id, "waiting", 5*time.Second)
			if m["stream_status"] != "upcoming" {
				t.Errorf("stream_status %v", m["stream_status"])
			}
			// Two more polls, and not another word.
			asked := common.YouTube.Count(youtube.Watch, v)
			eventually(t, 60*time.Second, "two more polls", func() bool { return common.YouTube.Count(youtube.Watch, v) >= asked+2 })
			only(t, common, id, "stream.delayed")
		})
	}
}

func TestAStreamWhoseStateCannotBeLearned(t *testing.T) { // S15: said in the log, the monitor goes on
	t.Parallel()
	for _, state := range []youtube.State{youtube.BotCheck, youtube.RateLimited, youtube.Captcha} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			v := video()
			common.YouTube.Add(v, youtube.Video{State: state})
			id := register(t, common, v, quick())
			line, err := common.Service.WaitLog(limited(t, 60*time.Second), func(l system.Line) bool {
				return l.MonitorID == id && l.Level == "WARN" && l.Data["state"] == "blocked"
			})
			if err != nil {
				t.Fatal(err)
			}
			if detail, _ := line.Data["detail"].(string); detail == "" {
				t.Errorf("the log does not say what YouTube said: %s", line.Raw)
			}
			becomes(t, common, id, "waiting", 5*time.Second)
			only(t, common, id)
			// And it sees the stream as soon as it can.
			stream, err := common.StartStream(t.Context(), v, livestream.Config{})
			if err != nil {
				t.Fatal(err)
			}
			arrives(t, common, id, "stream.started", 90*time.Second)
			stream.End()
			arrives(t, common, id, "stream.ended", 30*time.Second)
			only(t, common, id, "stream.started", "stream.ended")
		})
	}
}

func TestAStreamThatEndsWithoutAWord(t *testing.T) { // 7.6, S6
	t.Parallel()
	v := video()
	stream, err := common.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	id := register(t, common, v, quick())
	arrives(t, common, id, "stream.started", 30*time.Second)
	end := stream.Stop()
	common.YouTube.Set(v, youtube.Ended)
	e := arrives(t, common, id, "stream.ended", 120*time.Second)
	near(t, "ended_at", e.Data.EndedAt, end, exact)
	if after := e.Received.Sub(end); after < 55*time.Second || after > 80*time.Second {
		t.Errorf("told %s after the end; 60 s and a question were due", after)
	}
	becomes(t, common, id, "completed", 5*time.Second)
	only(t, common, id, "stream.started", "stream.ended")
}

func TestAnOutageOfALiveStream(t *testing.T) { // 6.6, 7.6, S6, S7
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
			t.Parallel()
			v := video()
			stream, err := common.StartStream(t.Context(), v, livestream.Config{})
			if err != nil {
				t.Fatal(err)
			}
			id := register(t, common, v, quick())
			arrives(t, common, id, "stream.started", 30*time.Second)
			began := time.Now()
			end := c.begin(v, stream)
			e := arrives(t, common, id, "alert.segment_error", 120*time.Second)
			if e.Data.Failure != c.failure || e.Data.ThresholdSec != 60 || e.Data.DurationSec < 60 || e.Data.LastError == "" {
				t.Errorf("failure %q, threshold %v, duration %v, last error %q", e.Data.Failure, e.Data.ThresholdSec, e.Data.DurationSec, e.Data.LastError)
			}
			near(t, "started_at", e.Data.StartedAt, began, 4*time.Second)
			if strings.Contains(e.Data.LastError, "expire/") || strings.Contains(e.Data.LastError, "?") {
				t.Errorf("last_error gives a signed URL away: %s", e.Data.LastError)
			}
			if m := becomes(t, common, id, "monitoring", time.Second); m["health"].(map[string]any)["video"] != "unknown" {
				t.Errorf("health while nothing can be seen: %v", m["health"])
			}
			end()
			eventually(t, 90*time.Second, "healthy again", func() bool {
				m, err := common.Service.Monitor(t.Context(), id)
				return err == nil && m["health"].(map[string]any)["video"] == "ok"
			})
			stream.End()
			arrives(t, common, id, "stream.ended", 30*time.Second)
			only(t, common, id, "stream.started", "alert.segment_error", "stream.ended")
		})
	}
}

func TestURLsThatExpireAreResolvedAgainAtOnce(t *testing.T) { // S7
	t.Parallel()
	v := video()
	stream, err := common.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	id := register(t, common, v, quick())
	arrives(t, common, id, "stream.started", 30*time.Second)
	asked := common.YouTube.Count(youtube.Watch, v)
	common.YouTube.ExpireNow(v)
	eventually(t, 30*time.Second, "asked again", func() bool { return common.YouTube.Count(youtube.Watch, v) > asked })
	black := stream.Black(true)
	e := arrives(t, common, id, "alert.blackout", 60*time.Second)
	near(t, "started_at", e.Data.StartedAt, black, exact)
	stream.End()
	arrives(t, common, id, "stream.ended", 30*time.Second)
	only(t, common, id, "stream.started", "alert.blackout", "stream.ended")
}

// eventually polls until something is so.
func eventually(t *testing.T, within time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
