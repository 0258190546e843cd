package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const previewURL = "/api/v1/preview"

func TestAPreviewShowsWhatTheResolverSees(t *testing.T) {
	hostile := `<img src=x onerror=alert(1)>` + "\u202egnp.exe " + strings.Repeat("🎤", 60)
	for _, c := range []struct {
		resolution watch.Resolution
		state      string
	}{
		{watch.Resolution{State: watch.Live, Title: hostile, Channel: "C"}, "live"},
		{watch.Resolution{State: watch.Offline}, "live"},
		{watch.Resolution{State: watch.Upcoming, ScheduledStart: now}, "upcoming"},
		{watch.Resolution{State: watch.Ended}, "ended"},
		{watch.Resolution{State: watch.Private, Detail: "Private video"}, "unavailable"},
		{watch.Resolution{State: watch.NotALiveStream}, "unavailable"},
		{watch.Resolution{State: watch.Blocked, Detail: "bot check"}, "unknown"},
		{watch.Resolution{State: watch.ManifestFound}, "unknown"},
	} {
		t.Run(string(c.resolution.State), func(t *testing.T) {
			api := newTestAPI(t)
			api.resolve = func(_ context.Context, url monitor.StreamURL) watch.Resolution {
				if url != streamURL {
					t.Errorf("resolved is %s", url)
				}
				return c.resolution
			}
			body := api.post(previewURL, `{"stream_url":"https://m.youtube.com/watch?v=dQw4w9WgXcQ&t=3"}`).hasStatus(http.StatusOK).json()
			orNil := func(s string) any {
				if s == "" {
					return nil
				}
				return s
			}
			var start any
			if !c.resolution.ScheduledStart.IsZero() {
				start = "2024-01-15T19:55:00.123+09:00"
			}
			want := map[string]any{
				"source": "youtube", "stream_url": streamURL, "title": orNil(c.resolution.Title), "channel": orNil(c.resolution.Channel), "state": c.state,
				"reason": string(c.resolution.State), "detail": orNil(c.resolution.Detail), "scheduled_start_at": start, "problems": []any{},
			}
			if fmt.Sprint(body) != fmt.Sprint(want) {
				t.Errorf("the preview is\n%v, want\n%v", body, want)
			}
			if page := api.get("/api/v1/monitors").json()["monitors"].([]any); len(page) > 0 || len(api.workers.Started()) > 0 {
				t.Error("the preview has registered something")
			}
		})
	}
}

func TestAPreviewNamesWhatWouldBeRefused(t *testing.T) {
	api := newTestAPI(t)
	api.resolve = func(context.Context, monitor.StreamURL) watch.Resolution {
		t.Error("a wrong URL is resolved")
		return watch.Resolution{}
	}
	body := api.post(previewURL, `{"stream_url":"https://example.com/","metadata":[],"color":1,"config":{"scheduled_start_time":"soon"}}`).hasStatus(http.StatusOK).json()
	if body["state"] != "unknown" || body["reason"] != nil || body["source"] != nil {
		t.Errorf("the preview is %v", body)
	}
	var problems []string
	for _, p := range body["problems"].([]any) {
		problem := p.(map[string]any)
		problems = append(problems, fmt.Sprint(problem["field"], " ", problem["code"]))
		if problem["message"] == "" {
			t.Errorf("%v has no message", problem)
		}
	}
	want := []string{"color INVALID_CONFIG", "config.scheduled_start_time INVALID_CONFIG", "stream_url INVALID_URL", "metadata INVALID_CONFIG"}
	if !slices.Equal(problems, want) {
		t.Errorf("the problems are %q, want %q", problems, want)
	}
}

func TestPreviewsAreFewAndShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newTestAPI(t)
		var running, most atomic.Int32
		api.resolve = func(ctx context.Context, _ monitor.StreamURL) watch.Resolution {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-ctx.Done()
			return watch.Resolution{State: watch.ToolFailed}
		}
		began := time.Now()
		states := make(chan string, 5)
		for range cap(states) {
			go func() {
				states <- fmt.Sprint(api.post(previewURL, registration).hasStatus(http.StatusOK).json()["reason"])
			}()
		}
		for range cap(states) {
			if state := <-states; state != "unreachable" {
				t.Errorf("the reason is %s", state)
			}
		}
		if took := time.Since(began); most.Load() != 2 || took > 21*time.Second {
			t.Errorf("%d previews ran at a time, and all took %v", most.Load(), took)
		}
	})
}
