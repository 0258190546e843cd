package ytdlp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pytool"
	"github.com/stream-monitor/stream-monitor/adapters/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// start is the release_timestamp of every recording that has one.
var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// TestReadTellsEveryStateApart runs over recordings in testdata: what yt-dlp
// 2026.10.26 wrote when a stand-in for YouTube was in the state that the file
// is named for. Their JSON is shortened to the fields that matter.
func TestReadTellsEveryStateApart(t *testing.T) {
	live := watch.Resolution{
		State:       watch.Live,
		ActualStart: start,
		Manifest:    "https://manifest.googlevideo.com/api/manifest/hls_variant/expire/1795000000/id/live_______/sig/AABBCC/file/index.m3u8",
		Renditions: []watch.Rendition{
			{URL: media("91"), Height: 144, Bandwidth: 290288, HasVideo: true, HasAudio: true},
			{URL: media("95"), Height: 720, Bandwidth: 2969452, HasVideo: true, HasAudio: true},
		},
	}
	liveAs := func(id string) watch.Resolution {
		r := live
		r.Manifest = strings.Replace(r.Manifest, "live_______", id, 1)
		return r
	}
	demuxed := liveAs("demux______")
	demuxed.Renditions = []watch.Rendition{
		{URL: media("233"), HasAudio: true},
		{URL: media("269"), Height: 144, Bandwidth: 290288, HasVideo: true},
	}
	ended := func(detail string) watch.Resolution {
		return watch.Resolution{State: watch.Ended, Detail: detail, ActualStart: start}
	}
	upcoming := func(detail string) watch.Resolution {
		return watch.Resolution{State: watch.Upcoming, Detail: detail}
	}
	is := func(s watch.State, detail string) watch.Resolution { return watch.Resolution{State: s, Detail: detail} }
	started := func(s watch.State, detail string) watch.Resolution {
		return watch.Resolution{State: s, Detail: detail, ActualStart: start}
	}
	const (
		notABot  = "Sign in to confirm you’re not a bot."
		rate     = "Video unavailable. This content isn't available, try again later. The current session has been rate-limited by YouTube for up to an hour."
		joining  = "Join this channel to get access to members-only content like this video, and other exclusive perks."
		unclear  = "Something new and strange happened"
		page429  = "Unable to download webpage: HTTP Error 429: Too Many Requests (caused by <HTTPError 429: Too Many Requests>)"
		page403  = "Unable to download webpage: HTTP Error 403: Forbidden (caused by <HTTPError 403: Forbidden>)"
		page503  = "HTTP Error 503: Service Unavailable. Retrying (1/1)..."
		slow     = "Failed to download m3u8 information: HTTPSConnectionPool(host='manifest.googlevideo.com', port=443): Read timed out. (read timeout=3.0)"
		noName   = "HTTPSConnection(host='www.youtube.com', port=443): Failed to resolve 'www.youtube.com' ([Errno -2] Name or service not known). Retrying (1/1)..."
		badCert  = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate (_ssl.c:1006). Retrying (1/1)..."
		badProxy = `('Unable to connect to proxy', NewConnectionError("HTTPSConnection(host='127.0.0.1', port=1): Failed to establish a new connection: [Errno 111] Connection refused")). Retrying (1/1)...`
	)

	want := map[string]watch.Resolution{
		"live":              live,
		"live-demuxed":      demuxed,
		"live-despite-429":  liveAs("api429_____"),
		"live-despite-503":  liveAs("api503_____"),
		"live-despite-hang": liveAs("apihang____"),

		"upcoming":                upcoming("This live event will begin in 42 minutes."),
		"upcoming-premiere":       upcoming("Premieres in 3 hours"),
		"upcoming-shortly":        upcoming("This live event will begin in a few moments."),
		"upcoming-while-was-live": upcoming("This live event will begin in a few moments."),

		"offline":          started(watch.Offline, "Offline."),
		"offline-no-media": started(watch.Offline, "live by name, but YouTube lists no media"),

		"ended":               ended("This live event has ended."),
		"ended-while-is-live": ended("This live event has ended."),
		"ended-no-recording":  ended("Video unavailable. This live stream recording is not available."),
		"post-live":           ended(""),
		"was-live":            ended(""),

		"not-a-live-stream": is(watch.NotALiveStream, ""),

		"private":                    is(watch.Private, "Private video. Sign in if you've been granted access to this video."),
		"private-unavailable":        is(watch.Private, "Video unavailable. This video is private"),
		"removed":                    is(watch.Removed, "Video unavailable"),
		"removed-by-uploader":        is(watch.Removed, "Video unavailable. This video has been removed by the uploader"),
		"removed-terms":              is(watch.Removed, "This video has been removed for violating YouTube’s Terms of Service"),
		"removed-account-terminated": is(watch.Removed, "Video unavailable. This video is no longer available because the YouTube account associated with this video has been terminated."),
		"region-locked":              is(watch.RegionLocked, "The uploader has not made this video available in your country"),
		"region-locked-while-live":   started(watch.RegionLocked, "Video unavailable. This video contains content from ACME, who has blocked it in your country on copyright grounds"),
		"age-restricted":             started(watch.AgeRestricted, "Sign in to confirm your age. This video may be inappropriate for some users."),
		"members-only":               started(watch.MembersOnly, joining),
		"members-only-upcoming": {
			State:  watch.MembersOnly,
			Detail: "This video is available to this channel's members on level: Gold (or any higher level). Join this channel to get access to members-only content and other exclusive perks.",
		},

		"blocked-bot":                is(watch.Blocked, notABot),
		"blocked-bot-while-live":     started(watch.Blocked, notABot),
		"blocked-bot-while-was-live": started(watch.Blocked, "Sign in to confirm that you’re not a bot."),
		"blocked-rate-limit":         is(watch.Blocked, rate),
		"blocked-captcha":            is(watch.Blocked, "Something went wrong. YouTube is requiring a captcha challenge before playback"),
		"blocked-app":                started(watch.Blocked, "The following content is not available on this app.. Watch this content on the latest version of YouTube."),
		"blocked-manifest-403":       started(watch.Blocked, "Failed to download m3u8 information: HTTP Error 403: Forbidden"),
		"blocked-page-403":           is(watch.Blocked, page403),
		"blocked-page-429":           is(watch.Blocked, page429),

		"unreachable-manifest-503":  started(watch.Unreachable, "Failed to download m3u8 information: HTTP Error 503: Service Unavailable"),
		"unreachable-manifest-hang": started(watch.Unreachable, slow),
		"unreachable-page-503":      is(watch.Unreachable, page503),
		"unreachable-dns":           is(watch.Unreachable, noName),
		"unreachable-tls":           is(watch.Unreachable, badCert),
		"unreachable-proxy":         is(watch.Unreachable, badProxy),

		"unknown-reason":            is(watch.ToolFailed, "yt-dlp found no video: "+unclear),
		"unknown-reason-while-live": started(watch.Offline, "live by name, but YouTube lists no media: "+unclear),
	}

	for _, file := range recordings(t) {
		t.Run(file.name, func(t *testing.T) {
			expected, ok := want[file.name]
			if !ok {
				t.Fatal("the table does not say what to make of it")
			}
			delete(want, file.name)
			same(t, ytdlp.Read(file.id, file.stdout, file.stderr), expected)
		})
	}
	for name := range want {
		t.Errorf("testdata has no recording %q", name)
	}
}

// TestReadUnderstandsOtherWordings covers what was not recorded: reasons as
// ERROR lines (older versions), and texts known from the field.
func TestReadUnderstandsOtherWordings(t *testing.T) {
	tests := []struct {
		line string
		want watch.State
	}{
		{"ERROR: [youtube] abcdefghijk: This live event will begin in 2 days.", watch.Upcoming},
		{"ERROR: [youtube] abcdefghijk: Premiere will begin shortly", watch.Upcoming},
		{"ERROR: [youtube] abcdefghijk: Scheduled for 21 November", watch.Upcoming},
		{"ERROR: [youtube] abcdefghijk: Offline", watch.Offline},
		{"ERROR: [youtube] abcdefghijk: OFFLINE.", watch.Offline},
		{"ERROR: [youtube] abcdefghijk: This live event has ended.", watch.Ended},
		{"ERROR: [youtube] abcdefghijk: Private video. Sign in if you've been granted access to this video", watch.Private},
		{"ERROR: [youtube] abcdefghijk: This video is private. Please sign in to verify that you may see it", watch.Private},
		{"ERROR: [youtube] abcdefghijk: Please sign in. Use --cookies for the authentication", watch.Blocked},
		{"ERROR: [youtube] abcdefghijk: Sign in to confirm you're not a bot", watch.Blocked},
		{"ERROR: [youtube] abcdefghijk: All player responses are invalid. Your IP is likely being blocked by Youtube", watch.Blocked},
		{"ERROR: [youtube] abcdefghijk: This video is not available in your country", watch.RegionLocked},
		{"ERROR: [youtube] abcdefghijk: This video is not available from your location due to geo restriction", watch.RegionLocked},
		{"ERROR: [youtube] abcdefghijk: This video is age-restricted and only available on YouTube.", watch.AgeRestricted},
		{"ERROR: [youtube] abcdefghijk: This video requires payment to watch", watch.MembersOnly},
		{"ERROR: [youtube] abcdefghijk: This video isn’t available anymore", watch.Removed},
		{"ERROR: [youtube] abcdefghijk: Video unavailable. This video is not available", watch.Removed},
		{"ERROR: [youtube] abcdefghijk: Unable to download API page: HTTP Error 502: Bad Gateway", watch.Unreachable},
		{"ERROR: [youtube] abcdefghijk: Unable to download API page: Tunnel connection failed: 403 Forbidden", watch.Unreachable},
		{"ERROR: [youtube] abcdefghijk: Unable to download API page: [Errno 104] Connection reset by peer", watch.Unreachable},
		{"ERROR: [youtube] abcdefghijk: Failed to extract any player response; please report this issue on  https://github.com/yt-dlp/yt-dlp/issues?q=", watch.ToolFailed},
		{"WARNING: HTTP Error 503: Service Unavailable. Retrying (1/1)...\nWARNING: HTTP Error 429: Too Many Requests", watch.Blocked},
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
	t.Run("live without HLS is live, and says so", func(t *testing.T) {
		got := answer(`"is_live"`, file)
		if got.State != watch.Live || len(got.Renditions) != 0 || !strings.Contains(got.Detail, "HLS") {
			t.Fatalf("got %+v", got)
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

func TestReadDistrustsWhatIsNotAnAnswer(t *testing.T) {
	for name, stdout := range map[string]string{
		"rubbish":                   "<html>captive portal</html>",
		"JSON cut short":            `{"id":"abcdefghijk","live_status":"is_li`,
		"something after the JSON":  `{"id":"abcdefghijk","live_status":"is_live"} and more`,
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
	t.Run("a start beyond the calendar is unknown", func(t *testing.T) {
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

// FuzzParse checks that whatever a tool prints becomes an answer that the
// watcher can keep: a known state, a short clean Detail, fetchable URLs, JSON.
func FuzzParse(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add(r.stdout, r.stderr)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr []byte) {
		var head struct{ ID string }
		_ = json.Unmarshal(stdout, &head)
		got := ytdlp.Read(head.ID, stdout, stderr)
		switch got.State {
		case watch.Live, watch.Upcoming, watch.Offline, watch.Ended, watch.NotALiveStream, watch.Private, watch.Removed,
			watch.RegionLocked, watch.AgeRestricted, watch.MembersOnly, watch.Blocked, watch.Unreachable, watch.ToolFailed:
		default:
			t.Errorf("state %q", got.State)
		}
		if len(got.Detail) > pytool.MaxLine || strings.ContainsAny(got.Detail, "\n\r\x00") || !utf8.ValidString(got.Detail) {
			t.Errorf("detail %q", got.Detail)
		}
		if got.State != watch.Live && len(got.Renditions) > 0 {
			t.Errorf("%s with renditions", got.State)
		}
		for _, r := range got.Renditions {
			if !strings.HasPrefix(strings.ToLower(r.URL), "http") || r.Height < 0 || r.Bandwidth < 0 {
				t.Errorf("rendition %+v", r)
			}
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("cannot be kept: %v", err)
		}
	})
}

func media(itag string) string {
	return "https://manifest.googlevideo.com/api/manifest/hls_playlist/expire/1795000000/itag/" + itag + "/sig/AA/playlist/index.m3u8"
}

// same compares as the watcher keeps it, which also reads well when it fails.
func same(t *testing.T, got, want watch.Resolution) {
	t.Helper()
	g, _ := json.MarshalIndent(got, "", " ")
	w, _ := json.MarshalIndent(want, "", " ")
	if !bytes.Equal(g, w) {
		t.Errorf("got %s\nwant %s", g, w)
	}
}

type recording struct {
	name, id       string
	stdout, stderr []byte
}

func recordings(tb testing.TB) []recording {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no recordings in testdata (%v)", err)
	}
	var all []recording
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		head, rest, ok := bytes.Cut(text, []byte("-- stderr --\n"))
		stderr, stdout, ok2 := bytes.Cut(rest, []byte("-- stdout --\n"))
		id, ok3 := strings.CutPrefix(strings.TrimSpace(string(head)), "id ")
		if !ok || !ok2 || !ok3 {
			tb.Fatalf("%s is not a recording", path)
		}
		all = append(all, recording{strings.TrimSuffix(filepath.Base(path), ".txt"), id, stdout, stderr})
	}
	return all
}
