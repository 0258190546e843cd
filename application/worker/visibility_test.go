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

// TestReportsSaySinceWhenTheStreamCannotBeObserved covers decision S15: the monitor
// shows blindness while it lasts, and the log says when it begins and ends.
func TestReportsSaySinceWhenTheStreamCannotBeObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		var log bytes.Buffer
		wait := startWorker(t.Context(), t, s, g, logTo(&log))
		time.Sleep(30 * time.Second)
		v := g.lastReport().Visibility
		if v == nil || v.LastError != "" || !v.BlindSince.IsZero() || time.Since(v.LastObservedAt) > 15*time.Second {
			t.Fatalf("while the stream can be observed: %+v", v)
		}

		s.set(func(s *fakeStream) {
			s.unreadable = true
			s.resolve = func(context.Context) watch.Resolution {
				return watch.Resolution{State: watch.Unreachable, Detail: "DNS does not resolve www.youtube.com"}
			}
		})
		blind := time.Now()
		time.Sleep(8 * time.Minute)
		v = g.lastReport().Visibility
		newest := v != nil && (strings.Contains(v.LastError, "DNS does not resolve") || strings.Contains(v.LastError, "no playlist")) // of either lane
		if !newest || blind.Sub(v.BlindSince).Abs() > 10*time.Second || blind.Sub(v.LastObservedAt).Abs() > 10*time.Second {
			t.Errorf("while it is blind: %+v", v)
		}
		if text := log.String(); !strings.Contains(text, `level=WARN msg="The stream cannot be observed"`) || strings.Contains(text, "can be observed again") {
			t.Errorf("the log says\n%s", text)
		}

		s.set(func(s *fakeStream) { s.unreadable, s.resolve = false, nil })
		time.Sleep(2 * time.Minute)
		v = g.lastReport().Visibility
		if v == nil || v.LastError != "" || !v.BlindSince.IsZero() || time.Since(v.LastObservedAt) > 15*time.Second {
			t.Errorf("when it can be observed again: %+v", v)
		}
		if text := log.String(); !strings.Contains(text, `level=INFO msg="The stream can be observed again"`) {
			t.Errorf("the log says\n%s", text)
		}
		endStream(t, s, wait)
	})
}
