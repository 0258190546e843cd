package ytdlp_test

import (
	"fmt"
	"net/http"
	"path"
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

// The installed yt-dlp reads the manifests of a live stream, to notice a release that lists formats
// differently. If YouTube has it in DASH only, the first run lists none of it.
func TestTheRealToolReadsManifests(t *testing.T) {
	y := pythontooltest.YouTube(t)
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, text := "application/vnd.apple.mpegurl", master
		if strings.HasSuffix(r.URL.Path, "live.mpd") {
			kind, text = "application/dash+xml", mpd
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(text))
	})
	resolver := ytdlp.New(ytdlp.Config{Path: pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")}, discardLog)
	for want, origin := range map[string]youtube.Origin{
		"/media/live.m3u8: ja.m3u8 !, en.m3u8, 144p.m3u8 144": {HLS: "live.m3u8"},
		"/media/live.mpd: ": {DASH: "live.mpd"},
	} {
		origin.Handler = serve
		y.Add(pythontooltest.URL.VideoID(), youtube.Video{State: youtube.Live, Origin: &origin})
		got := resolver.Resolve(t.Context(), pythontooltest.URL)
		var renditions []string
		for _, r := range got.Renditions {
			text := path.Base(r.URL)
			if r.Alternate {
				text += " !"
			}
			if r.HasVideo {
				text += fmt.Sprint(" ", r.Height)
			}
			renditions = append(renditions, text)
		}
		manifest := strings.TrimPrefix(got.Manifest, got.Manifest[:max(0, strings.Index(got.Manifest, "/media/"))])
		if all := manifest + ": " + strings.Join(renditions, ", "); got.State != watch.Live || all != want || got.Detail != "" || got.ActualStart.IsZero() {
			t.Errorf("got %s of %+v, want %s", all, got, want)
		}
	}
}
