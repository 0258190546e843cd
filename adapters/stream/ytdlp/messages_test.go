package ytdlp_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// TestOtherWordingsGiveTheSameStates covers messages that are not in testdata: reasons as
// ERROR lines of older versions, and messages from bug reports.
func TestOtherWordingsGiveTheSameStates(t *testing.T) {
	tests := []struct {
		line string
		want watch.StreamState
	}{
		{"ERROR: [youtube] abcdefghijk: Scheduled for 21 November", watch.Upcoming},
		{"ERROR: [youtube] abcdefghijk: Offline", watch.Offline},
		{"ERROR: [youtube] abcdefghijk: OFFLINE.", watch.Offline},
		{"ERROR: [youtube] abcdefghijk: Private video. Sign in if you've been granted access to this video", watch.Private},
		{"ERROR: [youtube] abcdefghijk: Please sign in. Use --cookies for the authentication", watch.Blocked},
		{"ERROR: [youtube] abcdefghijk: All player responses are invalid. Your IP is likely being blocked by Youtube", watch.Blocked},
		{"ERROR: [youtube] abcdefghijk: This video is not available from your location due to geo restriction", watch.RegionLocked},
		{"ERROR: [youtube] abcdefghijk: This video is age-restricted and only available on YouTube.", watch.AgeRestricted},
		{"ERROR: [youtube] abcdefghijk: This video requires payment to watch", watch.MembersOnly},
		{"ERROR: [youtube] abcdefghijk: This video isn’t available anymore", watch.Removed},
		{"ERROR: [youtube] abcdefghijk: Video unavailable. This video is not available", watch.Removed},
		{"WARNING: [youtube] Video unavailable. The uploader has closed their YouTube account.", watch.Removed},
		{"WARNING: [youtube] Video unavailable. This video is no longer available due to a copyright claim by ACME", watch.Removed},
		{"ERROR: [youtube] abcdefghijk: Failed to extract any player response; please report this issue on  https://github.com/yt-dlp/yt-dlp/issues?q=", watch.ToolFailed},
		{"WARNING: HTTP Error 503: Service Unavailable. Retrying (1/1)...\nWARNING: HTTP Error 429: Too Many Requests", watch.RateLimited},
		{"ERROR: [generic] '--version' is not a valid URL", watch.ToolFailed},
		{"yt-dlp: error: no such option: --bad", watch.ToolFailed},
		{"WARNING: [youtube] No supported JavaScript runtime could be found. YouTube extraction without a JS runtime has been deprecated, and some formats may be missing", watch.ToolFailed},
		{"", watch.ToolFailed},
	}
	for _, tc := range tests {
		t.Run(fmt.Sprintf("%q means %s", tc.line, tc.want), func(t *testing.T) {
			got := ytdlp.Read("abcdefghijk", nil, []byte(tc.line+"\n"))
			if got.State != tc.want || got.Detail == "" {
				t.Fatalf("got %s (%s)", got.State, got.Detail)
			}
		})
	}
}

func TestUnusableOutputIsAToolFailure(t *testing.T) {
	for name, stdout := range map[string]string{
		"HTML":                      "<html>captive portal</html>",
		"JSON cut short":            `{"id":"abcdefghijk","live_status":"is_li`,
		"text after the JSON":       `{"id":"abcdefghijk","live_status":"is_live"} and more`,
		"null":                      `null`,
		"a list":                    `[]`,
		"a field of the wrong type": `{"id":"abcdefghijk","formats":"none"}`,
		"another video's answer":    `{"id":"trailer1234","live_status":"not_live","formats":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := ytdlp.Read("abcdefghijk", []byte(stdout), []byte("WARNING: something odd\n"))
			if got.State != watch.ToolFailed || !strings.Contains(got.Detail, "cannot be used") {
				t.Fatalf("got %+v", got)
			}
		})
	}
	t.Run("a start after the year 9999 is unknown", func(t *testing.T) {
		for _, at := range []string{"-1", "0", "0.5", "253402300800", "1e18"} {
			got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":"was_live","release_timestamp":`+at+`}`), nil)
			if got.State != watch.Ended || !got.ActualStart.IsZero() {
				t.Errorf("%s: got %+v", at, got)
			}
		}
	})
	t.Run("titles do not decide", func(t *testing.T) {
		got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","title":"Private video: this live event has ended","live_status":"is_upcoming"}`), nil)
		if got.State != watch.Upcoming {
			t.Fatalf("got %+v", got)
		}
	})
}

// TestARefusalInWordsOutweighsAnEndThatYtdlpConcludes covers decision S19: yt-dlp
// derives was_live and not_live from a page that refuses media, also while the stream
// is live. Words about the network, the address or the client that asks say nothing about the
// video, even after "Video unavailable".
func TestARefusalInWordsOutweighsAnEndThatYtdlpConcludes(t *testing.T) {
	const network, address = "the network", "the requests of this address"
	for words, want := range map[string]struct {
		state watch.StreamState
		cause string
	}{
		"Sign in to confirm you’re not a bot.":                              {watch.Blocked, "bot check"},
		"Video unavailable. This content isn't available, try again later.": {watch.RateLimited, address},
		"Please sign in":                      {watch.Blocked, "demands a sign-in"},
		"Sign in to confirm that this is you": {watch.Blocked, "demands a sign-in"},
		"Sign in to confirm your age. This video may be inappropriate for some users.": {watch.AgeRestricted, ""},
		"This video is age-restricted and only available on YouTube.":                  {watch.AgeRestricted, ""},
		"The uploader has not made this video available in your country":               {watch.RegionLocked, ""},
		"Join this channel to get access to members-only content like this video":      {watch.MembersOnly, ""},
		"Private video. Sign in if you've been granted access to this video.":          {watch.Private, ""},
		"Video unavailable. This video is private":                                     {watch.Private, ""},
		"Video unavailable": {watch.Removed, ""},
		"Video unavailable. This video has been removed by the uploader": {watch.Removed, ""},
		"This live event will begin in a few moments.":                   {watch.Upcoming, ""},

		"Video unavailable. This video is restricted. Please check the Google Workspace administrator and/or the network administrator restrictions.": {watch.Blocked, network},
		"Video unavailable. Your network administrator does not allow this":                                                                           {watch.Blocked, network},
		"Video unavailable. This video is restricted. Please check with your network administrator":                                                   {watch.Blocked, network},
		"This video is unavailable with Restricted Mode enabled. To view this video, you will need to disable Restricted Mode.":                       {watch.Blocked, network},
		"Video unavailable. This video is not available in your country. VPN/Proxy Detected":                                                          {watch.Blocked, address},
		"Video unavailable. This video is unavailable on this device.":                                                                                {watch.Blocked, address},
		"Video unavailable. This video is not available in this browser":                                                                              {watch.Blocked, address},
		"Video unavailable. Playback on other websites has been disabled by the video owner":                                                          {watch.Blocked, address},
		"Video unavailable. This video is not available on this app":                                                                                  {watch.Blocked, address},
		"The page needs to be reloaded.": {watch.Blocked, address},
	} {
		for _, stdout := range []string{
			`{"id":"abcdefghijk","live_status":null,"is_live":null,"formats":[]}`,
			`{"id":"abcdefghijk","live_status":"was_live","is_live":false,"release_timestamp":1795255200,"formats":[]}`,
			`{"id":"abcdefghijk","live_status":"not_live","is_live":false,"formats":[]}`,
			`{"id":"abcdefghijk","live_status":"is_live","is_live":true,"formats":[]}`, "",
		} {
			got := ytdlp.Read("abcdefghijk", []byte(stdout), []byte("WARNING: [youtube] "+words+"\nWARNING: No video formats found!\nWARNING: Requested format is not available\n"))
			if got.State != want.state || !strings.HasSuffix(got.Detail, words) || !strings.Contains(got.Detail, want.cause) {
				t.Errorf("%s, with %s: got %s (%s), want %s", words, stdout, got.State, got.Detail, want.state)
			}
		}
	}
	t.Run("an end in words is an end", func(t *testing.T) {
		for _, words := range []string{"This live event has ended.", "Video unavailable. This live stream recording is not available."} {
			got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":"was_live","formats":[]}`), []byte("WARNING: "+words+"\n"))
			if got.State != watch.Ended || got.Detail != words {
				t.Errorf("%s: got %s (%s)", words, got.State, got.Detail)
			}
		}
	})
	t.Run("a recording with media is an end", func(t *testing.T) {
		stdout := `{"id":"abcdefghijk","live_status":"was_live","formats":[{"protocol":"https","url":"https://x.example/1"}]}`
		got := ytdlp.Read("abcdefghijk", []byte(stdout), []byte("WARNING: Sign in to confirm your age.\n"))
		if got.State != watch.Ended {
			t.Errorf("got %s (%s)", got.State, got.Detail)
		}
	})
}

func TestUnknownWordsEndNothing(t *testing.T) {
	for _, words := range []string{
		"Video unavailable. The moon is in the wrong house.", "Something new and strange happened", "This video is resting",
	} {
		for _, status := range []string{"null", `"was_live"`, `"not_live"`} {
			got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":`+status+`,"formats":[]}`), []byte("WARNING: [youtube] "+words+"\n"))
			if got.State.Known() || !strings.Contains(got.Detail, words) {
				t.Errorf("%s, %s: got %s (%s)", words, status, got.State, got.Detail)
			}
		}
	}
}

func TestMediaWithoutAStatusAreNoArchive(t *testing.T) {
	const formats = `"formats":[{"protocol":"https","url":"https://x.example/1"}]`
	for stdout, want := range map[string]watch.StreamState{
		`{"id":"abcdefghijk",` + formats + `}`:                                          watch.ToolFailed,
		`{"id":"abcdefghijk","live_status":null,"is_live":null,` + formats + `}`:        watch.ToolFailed,
		`{"id":"abcdefghijk","is_live":true,` + formats + `}`:                           watch.Live,
		`{"id":"abcdefghijk","is_live":false,` + formats + `}`:                          watch.NotALiveStream,
		`{"id":"abcdefghijk","live_status":"not_live","is_live":false,` + formats + `}`: watch.NotALiveStream,
		`{"id":"abcdefghijk","live_status":"was_live",` + formats + `}`:                 watch.Ended,
	} {
		if got := ytdlp.Read("abcdefghijk", []byte(stdout), nil); got.State != want {
			t.Errorf("%s: got %s (%s), want %s", stdout, got.State, got.Detail, want)
		}
	}
}

func TestOnlyUsableFormatsBecomeRenditions(t *testing.T) {
	const (
		muxed      = `{"protocol":"m3u8_native","url":"https://x.googlevideo.com/91","vcodec":"avc1","acodec":"mp4a","height":144,"tbr":290.5}`
		file       = `{"protocol":"https","url":"https://x.googlevideo.com/18","vcodec":"avc1","acodec":"mp4a"}`
		drm        = `{"protocol":"m3u8_native","url":"https://x.googlevideo.com/drm","has_drm":true}`
		storyboard = `{"protocol":"mhtml","url":"https://i.ytimg.com/sb","vcodec":"none","acodec":"none"}`
		noMedia    = "none of it as HLS or DASH"
	)
	unusable := strings.Join([]string{
		storyboard, file, drm, `{"protocol":"m3u8_native","url":"file:///etc/passwd"}`, `{"protocol":"m3u8_native","url":"/relative"}`,
		`{"protocol":"m3u8_native","url":""}`, `{"protocol":"m3u8_native","url":"https://x.googlevideo.com/` + strings.Repeat("a", ytdlp.MaxURL) + `"}`,
	}, ",")
	both := watch.Rendition{URL: "https://x.googlevideo.com/1", HasVideo: true, HasAudio: true}
	of91 := watch.Rendition{URL: "https://x.googlevideo.com/91", Height: 144, Bandwidth: 290_500, HasVideo: true, HasAudio: true}
	for name, c := range map[string]struct {
		status, formats string
		state           watch.StreamState
		renditions      []watch.Rendition
		detail          string
	}{
		"a codec that is null or missing counts as present": {"is_live", `{"protocol":"m3u8","url":"https://x.googlevideo.com/1","vcodec":null}`, watch.Live, []watch.Rendition{both}, ""},
		"impossible numbers are unknown":                    {"is_live", `{"protocol":"m3u8","url":"https://x.googlevideo.com/1","height":-3,"tbr":1e300}`, watch.Live, []watch.Rendition{both}, ""},
		"unusable formats are left out":                     {"is_live", unusable + "," + muxed, watch.Live, []watch.Rendition{of91}, ""},
		"no more renditions than the limit":                 {"is_live", strings.Repeat(muxed+",", ytdlp.MaxRenditions) + muxed, watch.Live, slices.Repeat([]watch.Rendition{of91}, ytdlp.MaxRenditions), ""},
		"live with a file alone is live with a detail":      {"is_live", file, watch.Live, nil, noMedia},
		"live with DRM alone is live with a detail":         {"is_live", drm, watch.Live, nil, noMedia},
		"storyboards are no media":                          {"is_live", storyboard, watch.Offline, nil, ""},
		"a premiere with a trailer is upcoming":             {"is_upcoming", muxed, watch.Upcoming, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ytdlp.Read("abcdefghijk", fmt.Appendf(nil, `{"id":"abcdefghijk","live_status":%q,"formats":[%s]}`, c.status, c.formats), nil)
			if got.State != c.state || !slices.Equal(got.Renditions, c.renditions) || !strings.Contains(got.Detail, c.detail) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestCaptionsAreTextsOfAnHLSPlaylist(t *testing.T) {
	text := func(language, protocol, url string) string {
		return fmt.Sprintf(`%q:[{"ext":"vtt","url":"https://x.googlevideo.com/timedtext"},{"protocol":%q,"url":%q}]`, language, protocol, url)
	}
	japanese := text("ja", "m3u8_native", "https://x.googlevideo.com/ja")
	for name, c := range map[string]struct{ subtitles, url string }{
		"the first language":     {"{" + japanese + "," + text("en", "m3u8", "https://x.googlevideo.com/en") + "}", "https://x.googlevideo.com/en"},
		"only HLS that is given": {"{" + japanese + "," + text("en", "http_dash_segments", "https://x.googlevideo.com/en") + "}", "https://x.googlevideo.com/ja"},
		"no file":                {"{" + text("en", "m3u8", "file:///etc/passwd") + "}", ""},
		"another form":           {`["en"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":"is_live","formats":[{"protocol":"m3u8","url":"https://x.googlevideo.com/1"}],"subtitles":`+c.subtitles+`}`), nil)
			want := []watch.Rendition{{URL: "https://x.googlevideo.com/1", HasVideo: true, HasAudio: true}}
			if c.url != "" {
				want = append(want, watch.Rendition{URL: c.url, HasCaptions: true})
			}
			if !slices.Equal(got.Renditions, want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestDASHIsUsedOnlyWithoutHLS(t *testing.T) {
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
		"one MPD of two formats":                    {video + "," + audio, "https://x.googlevideo.com/api/manifest/dash/sig/AA", 0},
		"of two MPDs the first":                     {video + "," + strings.Replace(audio, "dash/sig", "other/sig", 1), "https://x.googlevideo.com/api/manifest/dash/sig/AA", 0},
		"segments generated by yt-dlp":              {strings.Replace(video, "segments", "segments_generator", 1), "https://x.googlevideo.com/api/manifest/dash/sig/AA", 0},
		"of HLS and DASH, HLS":                      {video + "," + hls, "https://x.googlevideo.com/master", 1},
		"HLS with DRM is not used":                  {video + "," + strings.Replace(hls, `"url"`, `"has_drm":true,"url"`, 1), "https://x.googlevideo.com/api/manifest/dash/sig/AA", 0},
		"DRM in one format, not in the other":       {strings.Replace(video, `"url"`, `"has_drm":true,"url"`, 1) + "," + strings.Replace(audio, "dash/sig", "clear/sig", 1), "https://x.googlevideo.com/api/manifest/clear/sig/AA", 0},
		"HLS that may have DRM is used":             {strings.Replace(hls, `"url"`, `"has_drm":"maybe","url"`, 1), "https://x.googlevideo.com/master", 1},
		"only a URL that can be fetched":            {strings.Replace(video, "https://x.googlevideo.com/api", "file:///api", 1), "", 0},
		"DRM in every format leaves nothing":        {strings.Replace(video, `"url"`, `"has_drm":true,"url"`, 1), "", 0},
		"the MPD of a progressive file is not used": {`{"protocol":"https","url":"https://x.googlevideo.com/v",` + mpd + `}`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":"is_live","formats":[`+c.formats+`]}`), nil)
			if got.State != watch.Live || got.Manifest != c.manifest || len(got.Renditions) != c.renditions || (got.Detail == "") != (c.manifest != "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAudioOtherThanTheOriginalIsAnAlternate(t *testing.T) {
	format := func(url, rest string) string {
		return fmt.Sprintf(`{"protocol":"m3u8_native","url":"https://x.googlevideo.com/%s",%s}`, url, rest)
	}
	audio := func(url, rest string) string { return format(url, `"vcodec":"none","acodec":null`+rest) }
	muxed := func(url, rest string) string { return format(url, `"vcodec":"avc1","acodec":"mp4a"`+rest) }
	const (
		original  = `,"language":"en","language_preference":10,"source_preference":-1`
		dubbed    = `,"language":"ja","language_preference":-1,"source_preference":-1`
		unmarked  = `,"language":"ja","language_preference":null,"source_preference":-1`
		described = `,"language":"en-desc","language_preference":-10,"source_preference":-1`
		optional  = `,"language":"ja","source_preference":-2` // DEFAULT=NO
		plain     = `,"source_preference":-1`
	)
	for name, c := range map[string]struct {
		formats []string
		want    string // the alternate renditions
	}{
		"one audio track":                           {[]string{audio("a", plain)}, ""},
		"a dub beside the original":                 {[]string{audio("a", dubbed), audio("b", original)}, "a"},
		"a dub without a preference":                {[]string{audio("a", unmarked), audio("b", original)}, "a"},
		"an audio description":                      {[]string{audio("a", described), audio("b", plain)}, "a"},
		"audio with DEFAULT=NO":                     {[]string{audio("a", optional), audio("b", plain)}, "a"},
		"two tracks with DEFAULT=NO":                {[]string{audio("a", optional), audio("b", optional)}, ""},
		"two tracks without a language":             {[]string{audio("a", plain), audio("b", plain)}, ""},
		"audio without a language is no dub":        {[]string{audio("a", plain), audio("b", original)}, ""},
		"dubs with video":                           {[]string{muxed("a", dubbed), muxed("b", original)}, "a"},
		"video is compared with video only":         {[]string{muxed("a", unmarked), audio("b", original)}, ""},
		"video with source_preference -2 is no dub": {[]string{muxed("a", `,"source_preference":-2`), muxed("b", plain)}, ""},
		"video without audio is no alternate":       {[]string{format("a", `"vcodec":"avc1","acodec":"none"`+unmarked), muxed("b", original)}, ""},
		"formats with DRM are not compared":         {[]string{audio("a", unmarked), audio("b", original+`,"has_drm":true`)}, ""},
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

func TestTitleAndChannelAreTextOnOneLine(t *testing.T) {
	for _, c := range []struct{ json, title, channel string }{
		{`"title":"配信","channel":"C"`, "配信", "C"},
		{`"title":"配信 2026-11-22 21:05","fulltitle":"配信"`, "配信", ""},
		{`"title":" a\n\tb\u0000\u0007c ","channel":null,"uploader":"U"`, "a b c", "U"},
		{`"title":"a\u202egpj.exe\u2066","channel":"b\u200fc"`, "agpj.exe", "bc"},
		{`"title":"<img src=x onerror=alert(1)>"`, "<img src=x onerror=alert(1)>", ""},
		{`"title":7,"channel":{"name":"C"}`, "", ""},
		{`"title":"` + strings.Repeat("é", 300) + `"`, strings.Repeat("é", 200), ""},
		{`"title":"a` + strings.Repeat("é", 300) + `"`, "a" + strings.Repeat("é", 199), ""},
	} {
		got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":"is_upcoming","release_timestamp":1795255200,`+c.json+`}`), nil)
		if got.State != watch.Upcoming || got.Title != c.title || got.Channel != c.channel || !got.ScheduledStart.Equal(start) {
			t.Errorf("of %.60s: %+v", c.json, got)
		}
	}
}

func TestTheHeaderOfAFormatGoesWithItsMedia(t *testing.T) {
	format := func(more string) string {
		return `{"id":"abcdefghijk","live_status":"is_live","formats":[{"protocol":"https","url":"https://x.test/1","http_headers":{"X-File":"1"}},
			{"protocol":"m3u8_native","url":"https://a.cdn.test/list","manifest_url":"https://b.test/master"` + more + `}]}`
	}
	for name, c := range map[string]struct{ more, want string }{
		"none":              {``, "map[]"},
		"a field":           {`,"http_headers":{"User-Agent":"browser","Accept":"*/*","X-Token":"1"}`, "map[user-agent:browser x-token:1]"},
		"cookies":           {`,"cookies":"a=1; Domain=.cdn.test; Path=/; Secure; Expires=1795255200; b=\"x\\073 \\\"y\\\"\"; Domain=a.cdn.test; Path=/"`, `map[cookie:a=1]`},
		"a quoted cookie":   {`,"cookies":"a=\"x\\054y\\\\z\"; Domain=a.cdn.test"`, `map[cookie:a=x,y\z]`},
		"of another domain": {`,"cookies":"a=1; Domain=.other.test; Path=/"`, "map[]"},
		"attributes alone":  {`,"cookies":"Domain=a.cdn.test; Secure"`, "map[]"},
		"another form":      {`,"http_headers":["X-Token"],"cookies":{"a":"1"}`, "map[]"},
	} {
		got := ytdlp.Read("abcdefghijk", []byte(format(c.more)), nil)
		u, _ := url.Parse("https://a.cdn.test/segment")
		if fields := fmt.Sprint(got.Header.For(u)); got.State != watch.Live || fields != c.want {
			t.Errorf("%s: %s, want %s", name, fields, c.want)
		}
	}
}
