package watch_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// unobservable lets questions and playlists fail for a time.
func unobservable(from, to float64) func(*world) {
	return func(w *world) { w.playlistFails, w.unanswered = []span{{from, to}}, []span{{from, to}} }
}

func TestBlindnessGoesOnAcrossARestart(t *testing.T) { // S11, S15
	details := func(want string) func(event.Data) string {
		return func(d event.Data) string {
			if got := d.(event.MonitorFailure).ErrorDetails; !strings.Contains(got, want) {
				return "says " + got
			}
			return ""
		}
	}
	t.Run("blind for 205 s, restarted for 5 s", func(t *testing.T) {
		scenario(t, unobservable(0, never)).from(0).until(205).resume(5).until(1000).expect(
			emits(300, event.MonitorError, because("blind"), details("for 300 seconds")),
		)
	})
	t.Run("restarted every 50 s", func(t *testing.T) {
		w := scenario(t, unobservable(0, never)).from(0)
		for stop := 50.0; stop < 290; stop += 50 {
			w.until(stop).resume(5)
		}
		w.until(1000).expect(emits(300, event.MonitorError, because("blind"), details("for 300 seconds")))
	})
	t.Run("a pause longer than the limit is alerted when the successor has asked in vain", func(t *testing.T) {
		w := scenario(t, unobservable(150, never), func(w *world) { w.taskTime[watch.TaskResolve] = 7 }).from(93).until(200).resume(400).until(2000)
		w.expect(
			emits(100, event.StreamStarted),
			emits(607, event.MonitorError, because("blind")),
		)
	})
	t.Run("a successor that can observe is not blind", func(t *testing.T) {
		scenario(t, unobservable(150, 590)).from(100).until(200).resume(400).until(2000).expect(
			emits(100, event.StreamStarted),
		)
	})
	t.Run("a pause that began in sight does not count", func(t *testing.T) {
		scenario(t, unobservable(250, never)).from(100).until(200).resume(400).until(2000).expect(
			emits(100, event.StreamStarted),
			emits(900, event.MonitorError, because("blind"), details("for 300 seconds")),
		)
	})
}

func TestTheLogSaysWhenBlindnessBeginsAndEnds(t *testing.T) { // S15
	w := scenario(t, unobservable(150, 600)).from(100).until(900)
	begins, ends := w.logged("The stream cannot be observed"), w.logged("The stream can be observed again")
	if len(begins) != 1 || !begins[0].Warn || begins[0].Data["error"] != "unreachable: no answer" || begins[0].Data["duration_sec"] != int64(300) {
		t.Errorf("its beginning is logged as %v", begins)
	}
	if len(ends) != 1 || ends[0].Warn || ends[0].Data["blind_sec"] != int64(480) {
		t.Errorf("its end is logged as %v", ends)
	}
}

func TestTheReportSaysSinceWhenTheStreamCannotBeObserved(t *testing.T) { // S15
	w := scenario(t, unobservable(150, 600), func(w *world) { w.segmentsFail = []span{{700, 750}} }).from(100)
	for _, c := range []struct {
		at, blindSince, observed float64 // −1: never
		err                      string
	}{
		{140, -1, 140, ""},
		{200, -1, 140, "network: no playlist"},
		{460, 140, 140, "unreachable: no answer"},
		{650, -1, 650, ""},
		{705, -1, 700, "network: no segment"},
		{800, -1, 800, ""},
	} {
		w.until(c.at)
		v := w.watcher.Report().Visibility
		since := -1.0
		if !v.BlindSince.IsZero() {
			since = sec(v.BlindSince)
		}
		if v.LastError != c.err || abs(since-c.blindSince) > 10 || abs(sec(v.LastObservedAt)-c.observed) > 10 {
			t.Errorf("at %v: error %q, blind since %v, observed at %v; want %+v", c.at, v.LastError, since, sec(v.LastObservedAt), c)
		}
	}
	t.Run("when nothing was ever learned", func(t *testing.T) {
		v := scenario(t, unobservable(0, never)).from(0).until(400).watcher.Report().Visibility
		if !v.LastObservedAt.IsZero() || !v.BlindSince.Equal(epoch) || v.LastError == "" {
			t.Errorf("%+v", v)
		}
	})
	t.Run("after a restart", func(t *testing.T) {
		v := scenario(t, unobservable(150, never)).from(100).until(500).resume(5).watcher.Report().Visibility
		if sec(v.LastObservedAt) != 140 || sec(v.BlindSince) != 140 || v.LastError == "" {
			t.Errorf("%+v", v)
		}
	})
	t.Run("a question that fails while the media flow", func(t *testing.T) { // 3.3
		w := scenario(t, func(w *world) { w.unanswered = []span{{150, never}} }).from(100)
		for w.now < 3900 && len(w.logged("The stream's state could not be learned; the worker asks again")) == 0 {
			w.until(w.now + 1)
		}
		if v := w.watcher.Report().Visibility; v.LastError != "unreachable: no answer" || !v.BlindSince.IsZero() {
			t.Errorf("when it fails: %+v", v)
		}
		w.until(w.now + 1000)
		if v := w.watcher.Report().Visibility; v.LastError != "" {
			t.Errorf("with segments that were read since: %+v", v)
		}
	})
}
