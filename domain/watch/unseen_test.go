package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAReportSaysWhyNothingIsSeen(t *testing.T) { // decision S15
	for state, want := range map[watch.StreamState]monitor.UnseenClass{
		watch.Blocked: monitor.Refused, watch.RateLimited: monitor.Refused, watch.NameUnresolved: monitor.NoDNS, watch.ProxyFailed: monitor.NoProxy,
		watch.Unreachable: monitor.NoNetwork, watch.ToolFailed: monitor.NoTool, watch.LoginLost: monitor.NoLogin, watch.CircuitOpen: monitor.OtherUnseen,
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
