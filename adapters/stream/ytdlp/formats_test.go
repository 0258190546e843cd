package ytdlp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestReadChoosesFormats(t *testing.T) {
	answer := func(status, formats string) watch.Resolution {
		return ytdlp.Read("abcdefghijk", fmt.Appendf(nil, `{"id":"abcdefghijk","live_status":%s,"formats":[%s]}`, status, formats), nil)
	}
	const (
		muxed      = `{"protocol":"m3u8_native","url":"https://x.googlevideo.com/91","vcodec":"avc1","acodec":"mp4a","height":144,"tbr":290.5}`
		file       = `{"protocol":"https","url":"https://x.googlevideo.com/18","vcodec":"avc1","acodec":"mp4a"}`
		storyboard = `{"protocol":"mhtml","url":"https://i.ytimg.com/sb","vcodec":"none","acodec":"none"}`
	)
	t.Run("a codec that is null or not mentioned may be there", func(t *testing.T) {
		got := answer(`"is_live"`, `{"protocol":"m3u8","url":"https://x.googlevideo.com/1","vcodec":null}`)
		if len(got.Renditions) != 1 || got.Renditions[0] != (watch.Rendition{URL: "https://x.googlevideo.com/1", HasVideo: true, HasAudio: true}) {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("what cannot be watched is left out", func(t *testing.T) {
		got := answer(`"is_live"`, strings.Join([]string{
			storyboard, file, muxed,
			`{"protocol":"m3u8_native","url":"https://x.googlevideo.com/drm","has_drm":true}`,
			`{"protocol":"m3u8_native","url":"file:///etc/passwd"}`,
			`{"protocol":"m3u8_native","url":"/relative"}`,
			`{"protocol":"m3u8_native","url":""}`,
			`{"protocol":"m3u8_native","url":"https://x.googlevideo.com/` + strings.Repeat("a", ytdlp.MaxURL) + `"}`,
		}, ","))
		if got.State != watch.Live || len(got.Renditions) != 1 || got.Renditions[0].Height != 144 || got.Renditions[0].Bandwidth != 290500 {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("impossible numbers are unknown", func(t *testing.T) {
		got := answer(`"is_live"`, `{"protocol":"m3u8","url":"https://x.googlevideo.com/1","height":-3,"tbr":1e300}`)
		if len(got.Renditions) != 1 || got.Renditions[0].Height != 0 || got.Renditions[0].Bandwidth != 0 {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("no more renditions than the limit", func(t *testing.T) {
		got := answer(`"is_live"`, strings.Repeat(muxed+",", ytdlp.MaxRenditions)+muxed)
		if len(got.Renditions) != ytdlp.MaxRenditions {
			t.Fatalf("got %d", len(got.Renditions))
		}
	})
	t.Run("live without media of use is live, and says so", func(t *testing.T) {
		for _, formats := range []string{file, `{"protocol":"m3u8_native","url":"https://x.googlevideo.com/1","has_drm":true}`} {
			got := answer(`"is_live"`, formats)
			if got.State != watch.Live || len(got.Renditions) != 0 || !strings.Contains(got.Detail, "none of it as HLS or DASH") {
				t.Fatalf("got %+v", got)
			}
		}
	})
	t.Run("storyboards are no media", func(t *testing.T) {
		if got := answer(`"is_live"`, storyboard); got.State != watch.Offline {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("a premiere with a trailer is upcoming", func(t *testing.T) {
		if got := answer(`"is_upcoming"`, muxed); got.State != watch.Upcoming || len(got.Renditions) != 0 {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("formats without a live_status are an ordinary video", func(t *testing.T) {
		if got := answer(`null`, file); got.State != watch.NotALiveStream {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("unless is_live says otherwise", func(t *testing.T) {
		got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":null,"is_live":true,"formats":[`+muxed+`]}`), nil)
		if got.State != watch.Live || len(got.Renditions) != 1 {
			t.Fatalf("got %+v", got)
		}
	})
}

func TestReadTakesDASHWhereThereIsNoHLS(t *testing.T) {
	const (
		mpd   = `"manifest_url":"https://x.googlevideo.com/api/manifest/dash/sig/AA"`
		video = `{"protocol":"http_dash_segments","url":"https://x.googlevideo.com/v",` + mpd + `,"vcodec":"avc1","acodec":"none"}`
		audio = `{"protocol":"http_dash_segments","url":"https://x.googlevideo.com/a",` + mpd + `,"vcodec":"none","acodec":"mp4a"}`
		hls   = `{"protocol":"m3u8_native","url":"https://x.googlevideo.com/91","manifest_url":"https://x.googlevideo.com/master"}`
	)
	for name, c := range map[string]struct {
		formats, manifest string
		renditions        int
	}{
		"its MPD, once":                            {video + "," + audio, "https://x.googlevideo.com/api/manifest/dash/sig/AA", 0},
		"of two MPDs the first":                    {video + "," + strings.Replace(audio, "dash/sig", "other/sig", 1), "https://x.googlevideo.com/api/manifest/dash/sig/AA", 0},
		"where yt-dlp makes the segments":          {strings.Replace(video, "segments", "segments_generator", 1), "https://x.googlevideo.com/api/manifest/dash/sig/AA", 0},
		"of HLS and DASH, HLS":                     {video + "," + hls, "https://x.googlevideo.com/master", 1},
		"HLS with DRM is none":                     {video + "," + strings.Replace(hls, `"url"`, `"has_drm":true,"url"`, 1), "https://x.googlevideo.com/api/manifest/dash/sig/AA", 0},
		"DRM in one format, not in the other":      {strings.Replace(video, `"url"`, `"has_drm":true,"url"`, 1) + "," + strings.Replace(audio, "dash/sig", "clear/sig", 1), "https://x.googlevideo.com/api/manifest/clear/sig/AA", 0},
		"perhaps DRM is tried":                     {strings.Replace(hls, `"url"`, `"has_drm":"maybe","url"`, 1), "https://x.googlevideo.com/master", 1},
		"only a URL that can be fetched":           {strings.Replace(video, "https://x.googlevideo.com/api", "file:///api", 1), "", 0},
		"DRM in all of it is nothing to watch":     {strings.Replace(video, `"url"`, `"has_drm":true,"url"`, 1), "", 0},
		"an MPD that is no more than files is not": {`{"protocol":"https","url":"https://x.googlevideo.com/v",` + mpd + `}`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":"is_live","formats":[`+c.formats+`]}`), nil)
			if got.State != watch.Live || got.Manifest != c.manifest || len(got.Renditions) != c.renditions || (got.Detail == "") != (c.manifest != "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestReadTellsTheStreamsOwnSound(t *testing.T) {
	format := func(url, rest string) string {
		return fmt.Sprintf(`{"protocol":"m3u8_native","url":"https://x.googlevideo.com/%s",%s}`, url, rest)
	}
	sound := func(url, rest string) string { return format(url, `"vcodec":"none","acodec":null`+rest) }
	muxed := func(url, rest string) string { return format(url, `"vcodec":"avc1","acodec":"mp4a"`+rest) }
	const (
		original  = `,"language":"en","language_preference":10,"source_preference":-1`
		dubbed    = `,"language":"ja","language_preference":-1,"source_preference":-1`
		unsaid    = `,"language":"ja","language_preference":null,"source_preference":-1`
		described = `,"language":"en-desc","language_preference":-10,"source_preference":-1`
		chosen    = `,"language":"ja","source_preference":-2` // DEFAULT=NO
		plain     = `,"source_preference":-1`
	)
	for name, c := range map[string]struct {
		formats []string
		want    string // the alternates
	}{
		"one sound":                                {[]string{sound("a", plain)}, ""},
		"a dub beside the original":                {[]string{sound("a", dubbed), sound("b", original)}, "a"},
		"a dub of which nothing is said":           {[]string{sound("a", unsaid), sound("b", original)}, "a"},
		"a description of the pictures":            {[]string{sound("a", described), sound("b", plain)}, "a"},
		"a sound that the master calls no default": {[]string{sound("a", chosen), sound("b", plain)}, "a"},
		"two, and the master calls none default":   {[]string{sound("a", chosen), sound("b", chosen)}, ""},
		"two of no language":                       {[]string{sound("a", plain), sound("b", plain)}, ""},
		"what has no language is no dub":           {[]string{sound("a", plain), sound("b", original)}, ""},
		"dubs with pictures":                       {[]string{muxed("a", dubbed), muxed("b", original)}, "a"},
		"pictures are compared with pictures":      {[]string{muxed("a", unsaid), sound("b", original)}, ""},
		"pictures of low rank are no dub":          {[]string{muxed("a", `,"source_preference":-2`), muxed("b", plain)}, ""},
		"pictures alone have no sound to choose":   {[]string{format("a", `"vcodec":"avc1","acodec":"none"`+unsaid), muxed("b", original)}, ""},
		"what cannot be watched is no comparison":  {[]string{sound("a", unsaid), sound("b", original+`,"has_drm":true`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":"is_live","formats":[`+strings.Join(c.formats, ",")+`]}`), nil)
			alternates := ""
			for _, r := range got.Renditions {
				if r.Alternate {
					alternates += strings.TrimPrefix(r.URL, "https://x.googlevideo.com/")
				}
			}
			if alternates != c.want || len(got.Renditions) == 0 {
				t.Errorf("got %+v", got.Renditions)
			}
		})
	}
}
