package youtube_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/broadcast"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// listed is a format as yt-dlp lists it.
type listed struct {
	ID          string `json:"format_id"`
	URL         string
	ManifestURL string `json:"manifest_url"`
	Protocol    string
	Vcodec      string
	Acodec      string
}

// TestOrigin shows origins of several shapes to the real tools.
func TestOrigin(t *testing.T) {
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	onAir := func(t *testing.T, s broadcast.Shape) *broadcast.Broadcast {
		t.Helper()
		b, err := library.Start(t.Context(), s, broadcast.Config{Lead: 24 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	formats := func(t *testing.T, y *youtube.Server, options ...string) []listed {
		t.Helper()
		args := append([]string{"--ignore-config", "--dump-json", "--ignore-no-formats-error", "--no-playlist", "--socket-timeout", "10"}, options...)
		a := run(t, y, find(t, "YTDLP_PATH", "yt-dlp"), append(args, "--", y.URL(id))...)
		var info struct {
			LiveStatus string `json:"live_status"`
			Formats    []listed
		}
		if err := json.Unmarshal([]byte(a.stdout), &info); err != nil || info.LiveStatus != "is_live" {
			t.Fatalf("%v, live_status %q\n%s", err, info.LiveStatus, a.stderr)
		}
		if a.stderr != "" {
			t.Logf("yt-dlp says: %s", a.stderr)
		}
		return info.Formats
	}

	t.Run("HLS through a master", func(t *testing.T) {
		y, _ := begin(t)
		b := onAir(t, broadcast.Shape{Apart: true, Container: broadcast.FMP4})
		y.Add(id, youtube.Video{State: youtube.Live, Origin: &youtube.Origin{Handler: b.Handler(), HLS: b.Entry()}})
		got := formats(t, y)
		if len(got) != 2 || got[0].Vcodec != "none" && got[1].Vcodec != "none" {
			t.Fatalf("formats %+v", got)
		}
		for _, f := range got {
			if f.Protocol != "m3u8_native" || !strings.HasSuffix(f.ManifestURL, "/media/master.m3u8") {
				t.Errorf("%+v", f)
			}
		}
		client := through(t, y)
		lines := playlist(t, client, got[0].URL)
		if strings.HasPrefix(lines[len(lines)-1], "http") {
			t.Errorf("an origin's playlist ends with %s", lines[len(lines)-1])
		}
		segment := got[0].URL[:strings.LastIndex(got[0].URL, "/")+1] + lines[len(lines)-1]
		if status, _ := get(t, client, segment); status != http.StatusOK {
			t.Errorf("status %d of %s", status, segment)
		}
		if y.Count(youtube.Manifest, id) == 0 || y.Count(youtube.Playlist, id) == 0 || y.Count(youtube.Segment, id) != 1 {
			t.Errorf("%+v", y.Requests())
		}
		y.ExpireNow(id)
		if status, _ := get(t, client, segment); status != http.StatusForbidden {
			t.Errorf("status %d of an expired URL", status)
		}
	})
	t.Run("a media playlist as entry", func(t *testing.T) {
		y, _ := begin(t)
		b := onAir(t, broadcast.Shape{MediaEntry: true})
		y.Add(id, youtube.Video{State: youtube.Live, Origin: &youtube.Origin{Handler: b.Handler(), HLS: b.Entry()}})
		if got := formats(t, y); len(got) != 1 || got[0].Protocol != "m3u8_native" || !strings.HasSuffix(got[0].URL, "/itag/91/index.m3u8") {
			t.Errorf("formats %+v", got)
		}
	})
	t.Run("streamlink finds a master", func(t *testing.T) { // and nothing else: no media playlist, no MPD
		y, _ := begin(t)
		b := onAir(t, broadcast.Shape{Container: broadcast.FMP4})
		y.Add(id, youtube.Video{State: youtube.Live, Origin: &youtube.Origin{Handler: b.Handler(), HLS: b.Entry()}})
		a := run(t, y, find(t, "STREAMLINK_PATH", "streamlink"), "--no-config", "--json", y.URL(id))
		if a.code != 0 || !strings.Contains(a.stdout, "/media/master.m3u8") {
			t.Errorf("exit %d, %s", a.code, a.stdout)
		}
	})
	t.Run("DASH", func(t *testing.T) {
		for _, of := range []broadcast.Addressing{broadcast.TimelineTime, broadcast.Timeline, broadcast.Number} {
			y, _ := begin(t)
			b := onAir(t, broadcast.Shape{MPD: of, Apart: true})
			y.Add(id, youtube.Video{State: youtube.Live, Origin: &youtube.Origin{Handler: b.Handler(), DASH: b.Entry()}})
			// yt-dlp leaves a live stream's MPD alone unless it is told that
			// incomplete formats will do.
			if got := formats(t, y); len(got) != 0 {
				t.Errorf("%s: formats without being asked for: %+v", of, got)
			}
			got := formats(t, y, "--extractor-args", "youtube:formats=incomplete")
			if len(got) != 2 {
				t.Fatalf("%s: formats %+v", of, got)
			}
			for _, f := range got {
				if f.Protocol != "http_dash_segments" || !strings.HasSuffix(f.ManifestURL, "/media/manifest.mpd") {
					t.Errorf("%s: %+v", of, f)
				}
			}
		}
	})
}
