package acceptance_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// thumbnail reads the newest thumbnail of a monitor; nil: it has none.
func thumbnail(t *testing.T, env *testenv.Env, id string) image.Image {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, env.Service.URL()+"/api/v1/monitors/"+id+"/thumbnail", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", system.APIKey)
	answer, err := env.Service.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		t.Fatal(err)
	case answer.StatusCode == http.StatusNotFound:
		return nil
	case answer.StatusCode != http.StatusOK:
		t.Fatalf("the thumbnail is answered %d %s", answer.StatusCode, raw)
	}
	picture, err := jpeg.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds(); size.Dx() > 256 || size.Dy() > 144 || len(raw) > 32<<10 {
		t.Errorf("the thumbnail has %v in %d bytes", size, len(raw))
	}
	return picture
}

// isDark reports whether the mean luma of a picture is that of black.
func isDark(picture image.Image) bool {
	sum, size := 0, picture.Bounds()
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			sum += int(color.GrayModel.Convert(picture.At(x, y)).(color.Gray).Y)
		}
	}
	return sum < 10*size.Dx()*size.Dy()
}

// callOK calls the API and fails the test unless it answers 200.
func callOK(t *testing.T, env *testenv.Env, method, path string, body any) map[string]any {
	t.Helper()
	answer, err := env.Service.Call(t.Context(), method, path, body)
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("%s %s is answered %d %v, %v", method, path, answer.Status, answer.Body, err)
	}
	return answer.Body
}

func TestTheWallShowsWhatIsAnalysedWhileItIsOpen(t *testing.T) { // section 17.2
	runTimeline(t, 1, 90*time.Second)
	p := watchStream(t, shared, livestream.Config{}, nil)
	p.waitCheck(30 * time.Second)
	if thumbnail(t, shared, p.id) != nil {
		t.Error("there is a thumbnail although nobody has asked for one")
	}
	watch := func() image.Image {
		callOK(t, shared, http.MethodPost, "/api/v1/thumbnails/watch", map[string]any{"monitor_ids": []string{p.id}})
		return thumbnail(t, shared, p.id)
	}
	eventually(t, 45*time.Second, "a bright thumbnail", func() bool { picture := watch(); return picture != nil && !isDark(picture) })
	p.goBlack()
	eventually(t, 45*time.Second, "a dark thumbnail", func() bool { return isDark(watch()) })
	p.waitEvent(blackoutAlert, 60*time.Second)

	deliveries := callOK(t, shared, http.MethodGet, "/api/v1/deliveries?state=delivered&monitor_id="+p.id, nil)["deliveries"].([]any)
	if len(deliveries) < 1 {
		t.Fatal("no delivery is listed")
	}
	attempt := deliveries[len(deliveries)-1].(map[string]any)["attempts"].([]any)[0].(map[string]any)
	headers := attempt["request"].(map[string]any)["headers"].(map[string]any)
	if attempt["status"] != 204.0 || headers["X-Signature-256"] == nil || attempt["response"] == nil {
		t.Errorf("the attempt is %v", attempt)
	}
	incidents := callOK(t, shared, http.MethodGet, "/api/v1/incidents?monitor_id="+p.id, nil)["incidents"].([]any)
	alert := incidents[0].(map[string]any)["conditions"].([]any)[0].(map[string]any)["alert"].(map[string]any)
	if alert["threshold_sec"] != 6.0 || alert["duration_sec"].(float64) < 6 || fmt.Sprint(alert["criteria"]) != "map[area_percent:98 luma_below_percent:10]" {
		t.Errorf("the numbers of the alert are %v", alert)
	}
}

func TestAPreviewSeesWhatAWorkerWouldSee(t *testing.T) { // section 17.3
	runTimeline(t, 1, 60*time.Second)
	const hostile = `<img src=x onerror="alert(1)"> 配信`
	start := time.Now().Add(48 * time.Hour).Truncate(time.Second)
	upcoming, private := newVideoID(), newVideoID()
	shared.YouTube.Add(upcoming, youtube.Video{State: youtube.Upcoming, Title: hostile, Scheduled: start})
	shared.YouTube.Add(private, youtube.Video{State: youtube.Private})
	preview := func(video string) (got map[string]any) {
		t.Helper()
		eventually(t, 0, "yt-dlp has answered in the 20 s that it has", func() bool {
			got = callOK(t, shared, http.MethodPost, "/api/v1/preview", map[string]any{"stream_url": shared.YouTube.URL(video), "callback_url": shared.Receiver.URL()})
			return got["reason"] != "unreachable"
		})
		return got
	}
	got := preview(upcoming)
	at, _ := time.Parse(time.RFC3339Nano, fmt.Sprint(got["scheduled_start_at"]))
	if got["state"] != "upcoming" || got["title"] != hostile || !at.Equal(start) || len(got["problems"].([]any)) != 0 {
		t.Errorf("the preview of an upcoming stream is %v", got)
	}
	if got := preview(private); got["state"] != "unavailable" || got["reason"] != "private" {
		t.Errorf("the preview of a private video is %v", got)
	}
}
