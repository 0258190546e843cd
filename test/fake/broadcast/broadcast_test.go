package broadcast_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/broadcast"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when the broadcasts of most tests begin.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// startAt starts a broadcast of a shape that began this long ago.
func startAt(t *testing.T, s broadcast.Shape, elapsed time.Duration) (*broadcast.Broadcast, *httptest.Server) {
	t.Helper()
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := library.Start(t.Context(), s, broadcast.Config{Start: noon, Now: func() time.Time { return noon.Add(elapsed) }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	return b, server
}

// get returns the status and the body of url.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return res.StatusCode, string(b)
}

// mustGet returns the body of url. The status must be 200.
func mustGet(t *testing.T, url string) string {
	t.Helper()
	status, body := get(t, url)
	if status != http.StatusOK {
		t.Fatalf("%s: status %d, want 200", url, status)
	}
	return body
}

func TestAtConvertsTimesOfTheRecordingToWallTime(t *testing.T) {
	b, _ := startAt(t, broadcast.Shape{Reconnect: 44 * time.Second, ReconnectGap: 3 * time.Second}, 0)
	for instant, want := range map[time.Duration]time.Duration{
		broadcast.Program.Picture: 40_400 * time.Millisecond,
		broadcast.Program.Silence: 48_600 * time.Millisecond,
		broadcast.Program.End:     65 * time.Second,
	} {
		if got := b.At(instant); !got.Equal(noon.Add(want)) {
			t.Errorf("At(%v) = %v, want %v", instant, got, noon.Add(want))
		}
	}
}

func TestAContradictoryShapeIsRefused(t *testing.T) {
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]broadcast.Shape{
		"one track, demuxed":         {Video: broadcast.H264, Demuxed: true},
		"Opus in MPEG-TS":            {Video: broadcast.VP9, Audio: broadcast.Opus},
		"packed audio, muxed":        {Container: broadcast.Packed},
		"segments of half a second":  {Segment: time.Second / 2},
		"a window of two segments":   {Window: 2},
		"a history of MP4":           {Container: broadcast.FMP4, History: time.Hour},
		"ffmpeg's keys for MP4":      {Container: broadcast.FMP4, Keys: broadcast.ByFFmpeg},
		"keys of one file":           {SingleFile: true, Keys: broadcast.Rotating},
		"DASH that reconnects":       {MPD: broadcast.Timeline, Reconnect: 44 * time.Second},
		"half a segment, reconnects": {Reconnect: 45 * time.Second},
	} {
		if err := library.Prepare(t.Context(), s); err == nil {
			t.Errorf("%s: Prepare returned no error", name)
		}
	}
}

func TestALibraryEncodesEachShapeOnce(t *testing.T) {
	dir := t.TempDir()
	small := broadcast.Shape{Audio: broadcast.AAC}
	t.Run("concurrent callers share one encoding", func(t *testing.T) {
		var callers sync.WaitGroup
		for range 3 { // each stands for a process
			library, err := broadcast.Open(broadcast.Options{CacheDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				callers.Go(func() {
					if err := library.Prepare(t.Context(), small); err != nil {
						t.Error(err)
					}
				})
			}
		}
		callers.Wait()
		entries, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(entries) != 1 {
			t.Errorf("the cache has %v, want one entry: %v", entries, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".new-*")); len(left) > 0 {
			t.Errorf("temporary directories are left: %v", left)
		}
	})
	t.Run("an encoded shape is not encoded again", func(t *testing.T) {
		library, err := broadcast.Open(broadcast.Options{CacheDir: dir, FFmpeg: "/bin/false"})
		if err != nil {
			t.Fatal(err)
		}
		if err := library.Prepare(t.Context(), small); err != nil {
			t.Error(err)
		}
		if err := library.Prepare(t.Context(), broadcast.Shape{Video: broadcast.H264}); err == nil {
			t.Error("a missing shape was prepared without ffmpeg")
		}
	})
	t.Run("a missing ffmpeg is an error that names FFMPEG_PATH", func(t *testing.T) {
		if _, err := broadcast.Open(broadcast.Options{CacheDir: dir, FFmpeg: "/nowhere/ffmpeg"}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "FFMPEG_PATH") {
			t.Errorf("error %v", err)
		}
	})
}
