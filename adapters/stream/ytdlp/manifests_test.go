package ytdlp_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// A manifest of each format, with separate audio, in HLS in two languages.
const (
	master = `#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="g",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="en.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="g",NAME="Japanese",LANGUAGE="ja",DEFAULT=NO,AUTOSELECT=YES,URI="ja.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=290288,CODECS="avc1.4D401F,mp4a.40.2",RESOLUTION=256x144,AUDIO="g"
144p.m3u8
`
	mpd = `<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" minimumUpdatePeriod="PT5S" availabilityStartTime="2026-11-21T12:00:00Z" profiles="urn:mpeg:dash:profile:isoff-live:2011"><Period start="PT0S">
<AdaptationSet mimeType="audio/mp4" lang="en"><SegmentTemplate media="a$Number$.m4s" initialization="a.mp4" startNumber="1"><SegmentTimeline><S t="0" d="5" r="5"/></SegmentTimeline></SegmentTemplate><Representation id="a" codecs="mp4a.40.2" bandwidth="144000"/></AdaptationSet>
<AdaptationSet mimeType="video/mp4"><SegmentTemplate media="v$Number$.m4s" initialization="v.mp4" startNumber="1"><SegmentTimeline><S t="0" d="5" r="5"/></SegmentTimeline></SegmentTemplate><Representation id="v" codecs="avc1.42c00b" width="256" height="144" bandwidth="212000"/></AdaptationSet>
</Period></MPD>`
)

// TestTheRealToolReadsManifests lets the installed yt-dlp read a master and an MPD, to notice
// a release that lists formats differently. The site is unknown to yt-dlp, so its
// generic extractor reads them.
func TestTheRealToolReadsManifests(t *testing.T) {
	path := pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, text := "application/vnd.apple.mpegurl", master
		if r.URL.Path == "/live.mpd" {
			kind, text = "application/dash+xml", mpd
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(site.Close)
	run := func(t *testing.T, name string, prints []string) watch.Resolution {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), path, slices.Concat([]string{"--ignore-config", "--ignore-no-formats-error"}, prints, []string{"--", site.URL + "/" + name})...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, stderr.Bytes())
		}
		return ytdlp.Read("live", stdout.Bytes(), stderr.Bytes())
	}
	for name, prints := range map[string][]string{"all JSON": ytdlp.DumpJSON, "the fields of the DASH run": ytdlp.PrintWithDASH} {
		t.Run("a master, printing "+name, func(t *testing.T) {
			got := run(t, "live.m3u8", prints)
			expectEqual(t, got, watch.Resolution{State: watch.Live, Manifest: site.URL + "/live.m3u8", Renditions: []watch.Rendition{
				{URL: site.URL + "/ja.m3u8", HasAudio: true, Alternate: true},
				{URL: site.URL + "/en.m3u8", HasAudio: true},
				{URL: site.URL + "/144p.m3u8", Height: 144, Bandwidth: 290288, HasVideo: true},
			}})
		})
		t.Run("an MPD, printing "+name, func(t *testing.T) {
			got := run(t, "live.mpd", prints)
			expectEqual(t, got, watch.Resolution{State: watch.Live, Manifest: site.URL + "/live.mpd"})
		})
	}
}

// TestTheRealToolRunsAgainForDASH plays a live stream that YouTube has in DASH only. The
// first run lists none of it.
func TestTheRealToolRunsAgainForDASH(t *testing.T) {
	y := pythontooltest.YouTube(t)
	serve := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/dash+xml")
		_, _ = w.Write([]byte(mpd))
	})
	y.Add(pythontooltest.URL.VideoID(), youtube.Video{State: youtube.Live, Origin: &youtube.Origin{Handler: serve, DASH: "live.mpd"}})
	got := ytdlp.New(ytdlp.Config{Path: pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")}, discardLog).Resolve(t.Context(), pythontooltest.URL)
	if got.State != watch.Live || !strings.HasSuffix(got.Manifest, "/media/live.mpd") || len(got.Renditions) > 0 || got.Detail != "" || got.ActualStart.IsZero() {
		t.Errorf("got %+v", got)
	}
}
