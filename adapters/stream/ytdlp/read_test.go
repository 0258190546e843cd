package ytdlp_test

import (
	"maps"
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

// The details of several recordings.
const (
	notABot  = "YouTube demands a bot check from this address: Sign in to confirm you’re not a bot."
	rate     = "YouTube limits the requests of this address: Video unavailable. This content isn't available, try again later. The current session has been rate-limited by YouTube for up to an hour."
	joining  = "Join this channel to get access to members-only content like this video, and other exclusive perks."
	unclear  = "Something new and strange happened"
	page429  = "YouTube limits the requests of this address (HTTP 429): Unable to download webpage: HTTP Error 429: Too Many Requests (caused by <HTTPError 429: Too Many Requests>)"
	page403  = "YouTube refuses the requests of this address (HTTP 403): Unable to download webpage: HTTP Error 403: Forbidden (caused by <HTTPError 403: Forbidden>)"
	page503  = "YouTube answers with an error (HTTP 503): HTTP Error 503: Service Unavailable. Retrying (1/1)..."
	noAnswer = "YouTube cannot be reached from here: manifest.googlevideo.com does not answer in time: Failed to download m3u8 information: HTTPSConnectionPool(host='manifest.googlevideo.com', port=443): Read timed out. (read timeout=3.0)"
	noName   = "YouTube cannot be reached from here: DNS does not resolve www.youtube.com: HTTPSConnection(host='www.youtube.com', port=443): Failed to resolve 'www.youtube.com' ([Errno -2] Name or service not known). Retrying (1/1)..."
	badCert  = "YouTube cannot be reached from here: its TLS certificate is not trusted (unable to get local issuer certificate); see SSL_CERT_FILE: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate (_ssl.c:1006). Retrying (1/1)..."
	badProxy = `YouTube cannot be reached from here: the proxy 127.0.0.1:1 refuses the connection; check HTTPS_PROXY: ('Unable to connect to proxy', NewConnectionError("HTTPSConnection(host='127.0.0.1', port=1): Failed to establish a new connection: [Errno 111] Connection refused")). Retrying (1/1)...`
)

func ended(detail string) watch.Resolution {
	return watch.Resolution{State: watch.Ended, Detail: detail, ActualStart: start}
}

func upcoming(detail string) watch.Resolution {
	return watch.Resolution{State: watch.Upcoming, Detail: detail}
}

// resolved returns a resolution without the time of the start.
func resolved(s watch.StreamState, detail string) watch.Resolution {
	return watch.Resolution{State: s, Detail: detail}
}

// started returns a resolution with the time of the start.
func started(s watch.StreamState, detail string) watch.Resolution {
	return watch.Resolution{State: s, Detail: detail, ActualStart: start}
}

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

// expectedStates returns the resolutions of streams that are not live, by recording.
func expectedStates() map[string]watch.Resolution {
	return map[string]watch.Resolution{
		"upcoming":                upcoming("This live event will begin in 42 minutes."),
		"upcoming-premiere":       upcoming("Premieres in 3 hours"),
		"upcoming-shortly":        upcoming("This live event will begin in a few moments."),
		"upcoming-while-was-live": upcoming("This live event will begin in a few moments."),

		"offline":          started(watch.Offline, "Offline."),
		"offline-no-media": started(watch.Offline, "YouTube calls the stream live but lists no media"),

		"ended":               ended("This live event has ended."),
		"ended-while-is-live": ended("This live event has ended."),
		"ended-no-recording":  ended("Video unavailable. This live stream recording is not available."),
		"post-live":           ended(""),
		"was-live":            ended(""),

		"not-a-live-stream": resolved(watch.NotALiveStream, ""),
	}
}

// expectedRefusals returns the resolutions of videos that are not public, by recording.
func expectedRefusals() map[string]watch.Resolution {
	return map[string]watch.Resolution{
		"private":                    resolved(watch.Private, "Private video. Sign in if you've been granted access to this video."),
		"private-unavailable":        resolved(watch.Private, "Video unavailable. This video is private"),
		"removed":                    resolved(watch.Removed, "Video unavailable"),
		"removed-by-uploader":        resolved(watch.Removed, "Video unavailable. This video has been removed by the uploader"),
		"removed-terms":              resolved(watch.Removed, "This video has been removed for violating YouTube’s Terms of Service"),
		"removed-account-terminated": resolved(watch.Removed, "Video unavailable. This video is no longer available because the YouTube account associated with this video has been terminated."),
		"region-locked":              resolved(watch.RegionLocked, "The uploader has not made this video available in your country"),
		"region-locked-while-live":   started(watch.RegionLocked, "Video unavailable. This video contains content from ACME, who has blocked it in your country on copyright grounds"),
		"age-restricted":             started(watch.AgeRestricted, "Sign in to confirm your age. This video may be inappropriate for some users."),
		"members-only":               started(watch.MembersOnly, joining),
		"members-only-upcoming": {
			State:  watch.MembersOnly,
			Detail: "This video is available to this channel's members on level: Gold (or any higher level). Join this channel to get access to members-only content and other exclusive perks.",
		},
	}
}

// expectedFailures returns the resolutions without an answer, by recording.
func expectedFailures() map[string]watch.Resolution {
	return map[string]watch.Resolution{
		"blocked-bot":                resolved(watch.Blocked, notABot),
		"blocked-bot-while-live":     started(watch.Blocked, notABot),
		"blocked-bot-while-was-live": started(watch.Blocked, "YouTube demands a bot check from this address: Sign in to confirm that you’re not a bot."),
		"blocked-restricted-network": resolved(watch.Blocked, "the network of this address restricts what YouTube shows: Video unavailable. This video is restricted. Please check the Google Workspace administrator and/or the network administrator restrictions."),
		"blocked-rate-limit":         resolved(watch.RateLimited, rate),
		"blocked-captcha":            resolved(watch.Blocked, "YouTube demands a bot check from this address: Something went wrong. YouTube is requiring a captcha challenge before playback"),
		"blocked-app":                started(watch.Blocked, "YouTube refuses the requests of this address: The following content is not available on this app.. Watch this content on the latest version of YouTube."),
		"blocked-manifest-403":       started(watch.Blocked, "YouTube refuses the requests of this address (HTTP 403): Failed to download m3u8 information: HTTP Error 403: Forbidden"),
		"blocked-page-403":           resolved(watch.Blocked, page403),
		"blocked-page-429":           resolved(watch.RateLimited, page429),

		"unreachable-manifest-503":  started(watch.Unreachable, "YouTube answers with an error (HTTP 503): Failed to download m3u8 information: HTTP Error 503: Service Unavailable"),
		"unreachable-manifest-hang": started(watch.Unreachable, noAnswer),
		"unreachable-page-503":      resolved(watch.Unreachable, page503),
		"unreachable-dns":           resolved(watch.NameUnresolved, noName),
		"unreachable-tls":           resolved(watch.Unreachable, badCert),
		"unreachable-proxy":         resolved(watch.ProxyFailed, badProxy),

		"unknown-reason":            resolved(watch.ToolFailed, "yt-dlp found no video: "+unclear),
		"unknown-reason-while-live": started(watch.Offline, "YouTube calls the stream live but lists no media: "+unclear),
	}
}

// TestEveryRecordedOutputGivesItsState reads the recordings in testdata. yt-dlp 2026.10.26
// printed them for a fake YouTube in the state that names the file. Their JSON is
// shortened to the fields that matter.
func TestEveryRecordedOutputGivesItsState(t *testing.T) {
	want := map[string]watch.Resolution{}
	for _, expected := range []map[string]watch.Resolution{expectedLive(), expectedStates(), expectedRefusals(), expectedFailures()} {
		maps.Copy(want, expected)
	}
	for _, file := range recordedRuns(t) {
		t.Run(file.name, func(t *testing.T) {
			expected, ok := want[file.name]
			if !ok {
				t.Fatal("the table has no expectation for it")
			}
			delete(want, file.name)
			expectEqual(t, ytdlp.Read(file.id, file.stdout, file.stderr), expected)
		})
	}
	for name := range want {
		t.Errorf("testdata has no recording %q", name)
	}
}
