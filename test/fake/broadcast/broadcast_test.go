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

// onAir puts a shape on the air, some time of its recording being past.
func onAir(t *testing.T, s broadcast.Shape, past time.Duration) (*broadcast.Broadcast, *httptest.Server) {
	t.Helper()
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := library.Start(t.Context(), s, broadcast.Config{Start: noon, Now: func() time.Time { return noon.Add(past) }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	return b, server
}

// get fetches from a test's server.
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

// mustGet is get of what is there.
func mustGet(t *testing.T, url string) string {
	t.Helper()
	status, body := get(t, url)
	if status != http.StatusOK {
		t.Fatalf("status %d of %s", status, url)
	}
	return body
}

func TestAtConvertsTimesOfTheRecordingToWallTime(t *testing.T) {
	b, _ := onAir(t, broadcast.Shape{Reconnect: 44 * time.Second, ReconnectGap: 3 * time.Second}, 0)
	for instant, want := range map[time.Duration]time.Duration{
		broadcast.Program.Picture: 40_400 * time.Millisecond,
		broadcast.Program.Silence: 48_600 * time.Millisecond,
		broadcast.Program.End:     65 * time.Second,
	} {
		if got := b.At(instant); !got.Equal(noon.Add(want)) {
			t.Errorf("%v is on the air at %v", instant, got)
		}
	}
}

func TestAContradictoryShapeIsRefused(t *testing.T) {
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]broadcast.Shape{
		"one track apart":            {Video: broadcast.H264, Demuxed: true},
		"Opus in MPEG-TS":            {Video: broadcast.VP9, Audio: broadcast.Opus},
		"packed with the picture":    {Container: broadcast.Packed},
		"half a second":              {Segment: time.Second / 2},
		"two segments listed":        {Window: 2},
		"history of MP4":             {Container: broadcast.FMP4, History: time.Hour},
		"ffmpeg's keys for MP4":      {Container: broadcast.FMP4, Keys: broadcast.ByFFmpeg},
		"keys of one file":           {SingleFile: true, Keys: broadcast.Rotating},
		"DASH that reconnects":       {MPD: broadcast.Timeline, Reconnect: 44 * time.Second},
		"half a segment, reconnects": {Reconnect: 45 * time.Second},
	} {
		if err := library.Prepare(t.Context(), s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestALibraryEncodesEachShapeOnce(t *testing.T) {
	dir := t.TempDir()
	small := broadcast.Shape{Audio: broadcast.AAC}
	t.Run("concurrent callers share one encoding", func(t *testing.T) {
		var all sync.WaitGroup
		for range 3 { // as processes of their own
			library, err := broadcast.Open(broadcast.Options{CacheDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				all.Go(func() {
					if err := library.Prepare(t.Context(), small); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		entries, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".new-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("what is there is not made again", func(t *testing.T) {
		library, err := broadcast.Open(broadcast.Options{CacheDir: dir, FFmpeg: "/bin/false"})
		if err != nil {
			t.Fatal(err)
		}
		if err := library.Prepare(t.Context(), small); err != nil {
			t.Error(err)
		}
		if err := library.Prepare(t.Context(), broadcast.Shape{Video: broadcast.H264}); err == nil {
			t.Error("no error without ffmpeg")
		}
	})
	t.Run("no ffmpeg", func(t *testing.T) {
		if _, err := broadcast.Open(broadcast.Options{CacheDir: dir, FFmpeg: "/nowhere/ffmpeg"}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "FFMPEG_PATH") {
			t.Errorf("error %v", err)
		}
	})
}
