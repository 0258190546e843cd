package livestream_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

func TestTheHandlerServesTheStreamAndItsFaults(t *testing.T) {
	stream, clock := start(t, livestream.Config{
		Preroll: 10 * time.Second,
		Script: []livestream.Cue{
			{At: 20 * time.Second, Do: livestream.Fail, Part: livestream.Segments, Fault: httpfault.Status(404)},
			{At: 30 * time.Second, Do: livestream.Heal, Part: livestream.Segments},
			{At: 30 * time.Second, Do: livestream.Fail, Part: livestream.Playlists, Fault: httpfault.Text("not a playlist")},
		},
	})
	server := httptest.NewServer(stream.Handler())
	defer server.Close()
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}

	_, master := get("/master.m3u8")
	if want := "RESOLUTION=256x144,FRAME-RATE=30,VIDEO-RANGE=SDR,CLOSED-CAPTIONS=NONE\n91/index.m3u8\n"; !strings.Contains(master, want) {
		t.Errorf("master:\n%s", master)
	}
	want := "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n" +
		"#EXT-X-PROGRAM-DATE-TIME:2026-11-21T19:59:50.000+00:00\n#EXTINF:2.000,\n0.ts\n#EXTINF:2.000,\n1.ts\n#EXTINF:2.000,\n2.ts\n#EXTINF:2.000,\n3.ts\n#EXTINF:2.000,\n4.ts\n"
	if _, got := get("/91/index.m3u8"); got != want {
		t.Errorf("playlist:\n%s", got)
	}
	for path, status := range map[string]int{"/91/4.ts": 200, "/91/5.ts": 404, "/91/x.ts": 404, "/90/index.m3u8": 404, "/90/0.ts": 404} {
		if got, _ := get(path); got != status {
			t.Errorf("%s: status %d, want %d", path, got, status)
		}
	}
	t.Run("a fault begins and ends as scripted", func(t *testing.T) {
		clock.forward(10 * time.Second)
		if status, _ := get("/91/4.ts"); status != 404 {
			t.Errorf("status %d of a segment during its fault", status)
		}
		if status, _ := get("/91/index.m3u8"); status != 200 {
			t.Errorf("status %d of a playlist before its fault", status)
		}
		clock.forward(10 * time.Second)
		if status, _ := get("/91/4.ts"); status != 200 {
			t.Errorf("status %d of a segment after its fault", status)
		}
		if _, body := get("/91/index.m3u8"); body != "not a playlist" {
			t.Errorf("playlist during its fault: %s", body)
		}
		stream.Heal(livestream.Playlists)
		if _, body := get("/91/index.m3u8"); !strings.HasPrefix(body, "#EXTM3U") {
			t.Errorf("playlist after its fault: %s", body)
		}
	})
}

func TestConcurrentRequestsForASegmentGetTheSameBytes(t *testing.T) {
	stream, clock := start(t, livestream.Config{Script: []livestream.Cue{{At: 900 * time.Millisecond, Do: livestream.Black}}})
	clock.forward(3 * time.Second)
	server := httptest.NewServer(stream.Handler())
	defer server.Close()
	var clients sync.WaitGroup
	bodies := make([]string, 8)
	for i := range bodies {
		clients.Go(func() {
			resp, err := http.Get(server.URL + "/91/0.ts")
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("status %s, %v", resp.Status, err)
			}
			bodies[i] = string(b)
		})
	}
	clients.Wait()
	http.DefaultClient.CloseIdleConnections()
	for _, b := range bodies {
		if b != bodies[0] {
			t.Fatal("two requests got different bytes")
		}
	}
}

// The whole clip is black, but the stream is black only where the script says so.
func TestTheScriptDecidesWhenAClipIsBlack(t *testing.T) {
	clip := t.TempDir() + "/black.mp4"
	tool(t, "ffmpeg", nil, "-v", "error", "-f", "lavfi", "-i", "color=black:size=320x180:rate=24", "-t", "1", clip)
	library, err := livestream.Open(livestream.Options{CacheDir: t.TempDir(), Clip: clip})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
	stream, err := library.Start(t.Context(), livestream.Config{
		Preroll: 20 * time.Second, Now: func() time.Time { return now },
		Script: []livestream.Cue{{At: 5 * time.Second, Do: livestream.Black}, {At: 7 * time.Second, Do: livestream.Picture}},
	})
	if err != nil {
		t.Fatal(err)
	}
	found := detect(t, joinSegments(t, stream, 91))
	checkIntervals(t, "black", found.black, [][2]float64{{5, 7}}, 0.034)
	checkIntervals(t, "silence", found.silence, nil, 0)
	if _, err := livestream.Open(livestream.Options{CacheDir: t.TempDir(), Clip: "/nowhere"}); err == nil {
		t.Error("Open accepted a clip that does not exist")
	}
}
