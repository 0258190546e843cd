package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestBlindnessGoesOnAcrossARestart(t *testing.T) { // S11, S15
	follow(t, []timeline{
		{"blind for 205 s, restarted for 5 s", []option{unobservable(0, never), restarts(205, 210)}, 0, 1000, "300 error by blind", nil},
		{"restarted every 50 s", []option{unobservable(0, never), restarts(50, 55, 100, 105, 150, 155, 200, 205, 250, 255)}, 0, 1000,
			"300 error by blind", nil},
		{"a pause longer than the limit is alerted when the successor has asked in vain",
			[]option{unobservable(150, never), takes(watch.TaskResolve, 7), restarts(200, 600)}, 93, 2000,
			"100 started since 0, 607 error by blind", nil},
		{"a successor that can observe is not blind", []option{unobservable(150, 590), restarts(200, 600)}, 100, 2000, "100 started since 0", nil},
		{"a pause that began in sight does not count", []option{unobservable(250, never), restarts(200, 600)}, 100, 2000,
			"100 started since 0, 900 error by blind", nil},
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
	w := scenario(t, unobservable(150, 600), noSegment(700, 750)).from(100)
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
		w := scenario(t, unanswered(150, never)).from(100)
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
