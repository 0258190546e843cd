package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func refusal(sec float64) watch.Resolution {
	return watch.Resolution{Began: at(sec), State: watch.Blocked, Detail: "bot check"}
}

func TestAStreamThatCannotBeAskedAboutIsUnknown(t *testing.T) { // decisions S14 and S15
	t.Run("at once, if nothing was ever learned", func(t *testing.T) {
		w := watch.New(rules(), at(0))
		w.Step(at(1), refusal(0))
		if r := w.Report(); r.StreamStatus != monitor.StreamUnknown || r.Visibility.LastError == "" {
			t.Errorf("it is %+v", r)
		}
	})
	t.Run("after two questions, if it waits for its start", func(t *testing.T) {
		w := watch.New(rules(), at(0))
		w.Step(at(1), watch.Resolution{Began: at(0), State: watch.Upcoming})
		w.Step(at(31), refusal(30))
		if got := w.Report().StreamStatus; got != monitor.StreamUpcoming {
			t.Errorf("after one it is %s", got)
		}
		changed := false
		for _, e := range w.Step(at(61), refusal(60)) {
			h, ok := e.(watch.HealthChanged)
			changed = changed || ok && h.Stream == monitor.StreamUnknown
		}
		if !changed {
			t.Errorf("after two it is %s, and nobody hears of it %+v", w.Report().StreamStatus, w.Report().Visibility)
		}
	})
	t.Run("after two check intervals, if it is on air", func(t *testing.T) {
		w := watch.New(rules(), at(0))
		w.Step(at(1), liveAt(0, "a", "https://media.example/1"))
		for sec := 2.0; sec <= 24; sec += 2 {
			w.Step(at(sec), watch.Playlist{Began: at(sec - 1), URL: "https://media.example/1", Failure: watch.NewFailure(watch.FailureNetwork, "connection refused")})
			w.Step(at(sec), refusal(sec-1))
		}
		if got := w.Report(); got.StreamStatus != monitor.StreamUnknown || got.Health.Video != monitor.Unknown {
			t.Errorf("it is %+v %+v", got, got.Visibility)
		}
		w.Step(at(30), liveAt(29, "a", "https://media.example/1"))
		if got := w.Report().StreamStatus; got != monitor.StreamLive {
			t.Errorf("once it answers, it is %s", got)
		}
	})
}

func TestAReportSaysWhyNothingIsSeen(t *testing.T) { // decision S15
	for state, want := range map[watch.StreamState]monitor.UnseenClass{
		watch.Blocked: monitor.Refused, watch.RateLimited: monitor.Refused, watch.NameUnresolved: monitor.NoDNS, watch.ProxyFailed: monitor.NoProxy,
		watch.Unreachable: monitor.NoNetwork, watch.ToolFailed: monitor.NoTool, watch.CircuitOpen: monitor.OtherUnseen,
	} {
		w := watch.New(rules(), at(0))
		if got := w.Report().Visibility.Unseen; got != (monitor.Unseen{}) {
			t.Errorf("before the first answer %+v", got)
		}
		w.Step(at(1), watch.Resolution{Began: at(0), State: state, Detail: "-", Egress: "first"})
		if got := w.Report().Visibility.Unseen; got != (monitor.Unseen{Since: at(0), Class: want, Egress: "first"}) {
			t.Errorf("after %s %+v", state, got)
		}
		w.Step(at(11), watch.Resolution{Began: at(10), State: watch.CircuitOpen, Detail: "nobody was asked"})
		if got := w.Report().Visibility.Unseen; state != watch.CircuitOpen && (got.Class != want || got.Egress != "first") {
			t.Errorf("after %s and a question that was not asked %+v", state, got)
		}
		w.Step(at(21), liveAt(20, "a", "https://media.example/1"))
		if got := w.Report().Visibility.Unseen; got != (monitor.Unseen{}) {
			t.Errorf("once it answers %+v", got)
		}
	}
}
