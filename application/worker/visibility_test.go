package worker_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// TestReportsTellSinceWhenTheStreamCannotBeObserved covers decision S15: the monitor
// shows blindness while it lasts, and the log says when it begins and ends.
func TestReportsTellSinceWhenTheStreamCannotBeObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		var log bytes.Buffer
		wait := watching(t.Context(), t, s, d, func(c *worker.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		time.Sleep(30 * time.Second)
		v := d.last().Visibility
		if v == nil || v.LastError != "" || !v.BlindSince.IsZero() || time.Since(v.LastObservedAt) > 15*time.Second {
			t.Fatalf("while the stream can be observed: %+v", v)
		}

		s.set(func(s *stream) {
			s.unreadable = true
			s.resolve = func(context.Context) watch.Resolution {
				return watch.Resolution{State: watch.Unreachable, Detail: "DNS does not resolve www.youtube.com"}
			}
		})
		blind := time.Now()
		time.Sleep(8 * time.Minute)
		v = d.last().Visibility
		if v == nil || !strings.Contains(v.LastError, "DNS does not resolve") || blind.Sub(v.BlindSince).Abs() > 10*time.Second || blind.Sub(v.LastObservedAt).Abs() > 10*time.Second {
			t.Errorf("while it is blind: %+v", v)
		}
		if text := log.String(); !strings.Contains(text, `level=WARN msg="The stream cannot be observed"`) || strings.Contains(text, "can be observed again") {
			t.Errorf("the log says\n%s", text)
		}

		s.set(func(s *stream) { s.unreadable, s.resolve = false, nil })
		time.Sleep(2 * time.Minute)
		v = d.last().Visibility
		if v == nil || v.LastError != "" || !v.BlindSince.IsZero() || time.Since(v.LastObservedAt) > 15*time.Second {
			t.Errorf("when sight has returned: %+v", v)
		}
		if text := log.String(); !strings.Contains(text, `level=INFO msg="The stream can be observed again"`) {
			t.Errorf("the log says\n%s", text)
		}
		s.set(func(s *stream) { s.ended = true })
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	})
}
