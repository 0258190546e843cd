package ytdlp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// start is the release_timestamp of every recording that has one.
var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// expires is the time in every URL of the recordings.
var expires = time.Unix(1795000000, 0).UTC()

// expectedLive returns the resolutions of live streams, by recording.
func expectedLive() map[string]watch.Resolution {
	live := watch.Resolution{
		State:       watch.Live,
		ActualStart: start,
		Expires:     expires,
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
	dubbed := liveAs("languages__")
	dubbed.Renditions = []watch.Rendition{
		{URL: media("233/lang/ja"), HasAudio: true, Alternate: true},
		{URL: media("233/lang/en"), HasAudio: true},
		{URL: media("234"), HasAudio: true},
		{URL: media("269"), Height: 144, Bandwidth: 290288, HasVideo: true},
		{URL: media("91"), Height: 144, Bandwidth: 290288, HasVideo: true, HasAudio: true},
	}
	dash := watch.Resolution{
		State: watch.Live, ActualStart: start, Expires: expires,
		Manifest: "https://manifest.googlevideo.com/api/manifest/dash/expire/1795000000/id/dash_______/sig/AABBCC",
	}
	return map[string]watch.Resolution{
		"live":              live,
		"live-demuxed":      demuxed,
		"live-languages":    dubbed,
		"live-dash":         dash,
		"live-despite-429":  liveAs("api429_____"),
		"live-despite-503":  liveAs("api503_____"),
		"live-despite-hang": liveAs("apihang____"),
	}
}

// expected is what the recording of a stream that is not live must give.
type expected struct {
	state   watch.StreamState
	started bool   // the time of the start is known
	detail  string // YouTube's words, or the tool's
	cause   string // what the detail says before them
}

// expectedStates is by recording.
var expectedStates = map[string]expected{
	"upcoming":                {watch.Upcoming, false, "This live event will begin in 42 minutes.", ""},
	"upcoming-premiere":       {watch.Upcoming, false, "Premieres in 3 hours", ""},
	"upcoming-shortly":        {watch.Upcoming, false, "This live event will begin in a few moments.", ""},
	"upcoming-while-was-live": {watch.Upcoming, false, "This live event will begin in a few moments.", ""},

	"offline":             {watch.Offline, true, "Offline.", ""},
	"offline-no-media":    {watch.Offline, true, "YouTube calls the stream live but lists no media", ""},
	"ended":               {watch.Ended, true, "This live event has ended.", ""},
	"ended-while-is-live": {watch.Ended, true, "This live event has ended.", ""},
	"ended-no-recording":  {watch.Ended, true, "Video unavailable. This live stream recording is not available.", ""},
	"post-live":           {watch.Ended, true, "", ""},
	"was-live":            {watch.Ended, true, "", ""},
	"not-a-live-stream":   {watch.NotALiveStream, false, "", ""},

	"private":                    {watch.Private, false, "Private video. Sign in if you've been granted access to this video.", ""},
	"private-unavailable":        {watch.Private, false, "Video unavailable. This video is private", ""},
	"removed":                    {watch.Removed, false, "Video unavailable", ""},
	"removed-by-uploader":        {watch.Removed, false, "Video unavailable. This video has been removed by the uploader", ""},
	"removed-terms":              {watch.Removed, false, "This video has been removed for violating YouTube’s Terms of Service", ""},
	"removed-account-terminated": {watch.Removed, false, "Video unavailable. This video is no longer available because the YouTube account associated with this video has been terminated.", ""},
	"region-locked":              {watch.RegionLocked, false, "The uploader has not made this video available in your country", ""},
	"region-locked-while-live":   {watch.RegionLocked, true, "Video unavailable. This video contains content from ACME, who has blocked it in your country on copyright grounds", ""},
	"age-restricted":             {watch.AgeRestricted, true, "Sign in to confirm your age. This video may be inappropriate for some users.", ""},
	"members-only":               {watch.MembersOnly, true, "Join this channel to get access to members-only content like this video, and other exclusive perks.", ""},
	"members-only-upcoming":      {watch.MembersOnly, false, "This video is available to this channel's members on level: Gold (or any higher level). Join this channel to get access to members-only content and other exclusive perks.", ""},

	"blocked-bot":                {watch.Blocked, false, "Sign in to confirm you’re not a bot.", "bot check"},
	"blocked-bot-while-live":     {watch.Blocked, true, "Sign in to confirm you’re not a bot.", "bot check"},
	"blocked-bot-while-was-live": {watch.Blocked, true, "Sign in to confirm that you’re not a bot.", "bot check"},
	"blocked-restricted-network": {watch.Blocked, false, "This video is restricted. Please check the Google Workspace administrator and/or the network administrator restrictions.", "the network of this address"},
	"blocked-rate-limit":         {watch.RateLimited, false, "The current session has been rate-limited by YouTube for up to an hour.", "limits the requests of this address"},
	"blocked-captcha":            {watch.Blocked, false, "YouTube is requiring a captcha challenge before playback", "bot check"},
	"blocked-app":                {watch.Blocked, true, "The following content is not available on this app.. Watch this content on the latest version of YouTube.", "refuses the requests of this address"},
	"blocked-manifest-403":       {watch.Blocked, true, "Failed to download m3u8 information: HTTP Error 403: Forbidden", "(HTTP 403)"},
	"blocked-page-403":           {watch.Blocked, false, "(caused by <HTTPError 403: Forbidden>)", "(HTTP 403)"},
	"blocked-page-429":           {watch.RateLimited, false, "(caused by <HTTPError 429: Too Many Requests>)", "(HTTP 429)"},

	"unreachable-manifest-503":  {watch.Unreachable, true, "Failed to download m3u8 information: HTTP Error 503: Service Unavailable", "(HTTP 503)"},
	"unreachable-manifest-hang": {watch.Unreachable, true, "Read timed out. (read timeout=3.0)", "manifest.googlevideo.com does not answer in time"},
	"unreachable-page-503":      {watch.Unreachable, false, "HTTP Error 503: Service Unavailable. Retrying (1/1)...", "(HTTP 503)"},
	"unreachable-dns":           {watch.NameUnresolved, false, "([Errno -2] Name or service not known). Retrying (1/1)...", "DNS does not resolve www.youtube.com"},
	"unreachable-tls":           {watch.Unreachable, false, "unable to get local issuer certificate (_ssl.c:1006). Retrying (1/1)...", "SSL_CERT_FILE"},
	"unreachable-proxy":         {watch.ProxyFailed, false, "[Errno 111] Connection refused\")). Retrying (1/1)...", "the proxy 127.0.0.1:1 refuses the connection; check HTTPS_PROXY"},

	"unknown-reason":            {watch.ToolFailed, false, "Something new and strange happened", "yt-dlp found no video"},
	"unknown-reason-while-live": {watch.Offline, true, "Something new and strange happened", "lists no media"},
}

// TestEveryRecordedOutputGivesItsState reads the recordings in testdata. yt-dlp 2026.10.26
// printed them for a fake YouTube in the state that names the file. Their JSON is
// shortened to the fields that matter.
func TestEveryRecordedOutputGivesItsState(t *testing.T) {
	live, seen := expectedLive(), 0
	for _, file := range recordedRuns(t) {
		t.Run(file.name, func(t *testing.T) {
			got := ytdlp.Read(file.id, file.stdout, file.stderr)
			if want, ok := live[file.name]; ok {
				seen++
				expectEqual(t, got, want)
				return
			}
			want, ok := expectedStates[file.name]
			if !ok {
				t.Fatal("no table has an expectation for it")
			}
			seen++
			if !strings.HasSuffix(got.Detail, want.detail) || !strings.Contains(got.Detail, want.cause) || want.cause == "" && got.Detail != want.detail {
				t.Errorf("detail %q, want %q and before it %q", got.Detail, want.detail, want.cause)
			}
			words := resolved(want.state, got.Detail)
			if want.started {
				words.ActualStart = start
			}
			expectEqual(t, got, words)
		})
	}
	if all := len(live) + len(expectedStates); seen != all {
		t.Errorf("testdata has %d of %d recordings", seen, all)
	}
}

// resolved returns a resolution without the time of the start.
func resolved(s watch.StreamState, detail string) watch.Resolution {
	return watch.Resolution{State: s, Detail: detail}
}
