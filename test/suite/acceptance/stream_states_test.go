package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// A state of each kind. The tests of adapters/stream tell all of them apart.
func TestTheStateOfAVideoDecidesWhatIsWatched(t *testing.T) { // section 7.2, decision S15
	t.Parallel()
	for state, c := range map[youtube.State]struct{ event, reason, status string }{
		youtube.Private: {"monitor.error", "video_private", "error"},
		youtube.Ended:   {scenario.Ended, "not_live", "completed"},
	} {
		t.Run(string(state), func(t *testing.T) {
			runTimeline(t, 1)
			v := newVideoID()
			shared.YouTube.Add(v, youtube.Video{State: state})
			id := shared.Register(t, v, nil)
			e := shared.WaitEvent(t, id, c.event, time.Minute)
			if e.Data.Reason != c.reason || e.Data.Terminal != (c.status == "error") {
				t.Errorf("reason %q, terminal %v", e.Data.Reason, e.Data.Terminal)
			}
			shared.WaitStatus(t, id, c.status, 5*time.Second)
			shared.WaitNoWorker(t, id)
			shared.AssertEvents(t, id, c.event)
		})
	}
	t.Run("a state that cannot be learned is asked for again", func(t *testing.T) {
		runTimeline(t, 1)
		v := newVideoID()
		shared.YouTube.Add(v, youtube.Video{State: youtube.BotCheck})
		id := shared.Register(t, v, fastConfig())
		line := waitLog(t, shared.Service, time.Minute, func(l system.Line) bool {
			return l.MonitorID == id && l.Level == "WARN" && l.Data["state"] == "blocked"
		})
		if detail, _ := line.Data["detail"].(string); detail == "" {
			t.Errorf("the log does not have YouTube's words: %s", line.Raw)
		}
		shared.WaitStatus(t, id, "waiting", 5*time.Second)
		shared.AssertEvents(t, id)
		stream, err := shared.StartStream(t.Context(), v, livestream.Config{})
		if err != nil {
			t.Fatal(err)
		}
		shared.WaitEvent(t, id, scenario.Started, scenario.StartTimeout+30*time.Second)
		stream.End()
		shared.WaitEvent(t, id, scenario.Ended, 30*time.Second)
		shared.AssertEvents(t, id, scenario.Started, scenario.Ended)
	})
}
