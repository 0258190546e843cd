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

// listed is a format in yt-dlp's output.
type listed struct {
	ID          string `json:"format_id"`
	URL         string
	ManifestURL string `json:"manifest_url"`
	Protocol    string
	Vcodec      string
	Acodec      string
}

// The acceptance tests watch an origin with every packaging, DASH included. This
// test shows the paths of an origin and their expiry.
func TestTheToolsFindTheMasterPlaylistOfAnOrigin(t *testing.T) {
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	onAir := func(t *testing.T, s broadcast.Shape) *broadcast.Broadcast {
		t.Helper()
		b, err := library.Start(t.Context(), s, broadcast.Config{Preroll: 24 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	formats := func(t *testing.T, y *youtube.Server) []listed {
		t.Helper()
		a := ytdlp(t, y)
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
		y, _ := startServer(t)
		b := onAir(t, broadcast.Shape{Demuxed: true, Container: broadcast.FMP4})
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
		client := newClient(t, y)
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
	t.Run("streamlink finds a master", func(t *testing.T) { // it finds neither media playlists nor MPDs
		y, _ := startServer(t)
		b := onAir(t, broadcast.Shape{Container: broadcast.FMP4})
		y.Add(id, youtube.Video{State: youtube.Live, Origin: &youtube.Origin{Handler: b.Handler(), HLS: b.Entry()}})
		a := run(t, y, find(t, "STREAMLINK_PATH", "streamlink"), "--no-config", "--json", y.URL(id))
		if a.code != 0 || !strings.Contains(a.stdout, "/media/master.m3u8") {
			t.Errorf("exit %d, %s", a.code, a.stdout)
		}
	})
}
