package worker_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Decision S15. What a report says of blindness is tested in domain/watch.
func TestBlindnessIsReportedAndItsBeginningAndEndAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		var log bytes.Buffer
		wait := startWorker(t.Context(), t, s, g, logTo(&log))
		expect := func(when string, blind bool, lines string) {
			t.Helper()
			if v := g.lastReport().Visibility; v == nil || v.BlindSince.IsZero() == blind || (v.LastError == "") == blind {
				t.Errorf("%s: %+v", when, v)
			}
			if text := log.String(); strings.Contains(text, `level=WARN msg="The stream cannot be observed"`) != (lines != "") ||
				strings.Contains(text, `level=INFO msg="The stream can be observed again"`) != (lines == "both") {
				t.Errorf("%s the log says\n%s", when, text)
			}
		}
		time.Sleep(30 * time.Second)
		expect("while the stream can be observed", false, "")
		s.set(func(s *fakeStream) {
			s.unreadable, s.resolve = true, func(context.Context) watch.Resolution {
				return watch.Resolution{State: watch.Unreachable, Detail: "DNS does not resolve www.youtube.com"}
			}
		})
		time.Sleep(8 * time.Minute)
		expect("while it is blind", true, "the first")
		s.set(func(s *fakeStream) { s.unreadable, s.resolve = false, nil })
		time.Sleep(2 * time.Minute)
		expect("when it can be observed again", false, "both")
		endStream(t, s, wait)
	})
}
