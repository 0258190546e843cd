package ytdlp_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Words about the network, the address or the client that asks say nothing about the video, even
// after "Video unavailable".
func TestWordsAboutTheOwnNetworkAreARefusal(t *testing.T) {
	for words, cause := range map[string]string{
		"Video unavailable. This video is restricted. Please check the Google Workspace administrator and/or the network administrator restrictions.": "the network",
		"Video unavailable. Your network administrator does not allow this":                                                                           "the network",
		"Video unavailable. This video is restricted. Please check with your network administrator":                                                   "the network",
		"This video is unavailable with Restricted Mode enabled. To view this video, you will need to disable Restricted Mode.":                       "the network",
		"Video unavailable. This video is not available in your country. VPN/Proxy Detected":                                                          "the requests of this address",
		"Video unavailable. This video is unavailable on this device.":                                                                                "the requests of this address",
		"Video unavailable. This video is not available in this browser":                                                                              "the requests of this address",
		"Video unavailable. Playback on other websites has been disabled by the video owner":                                                          "the requests of this address",
		"Video unavailable. This video is not available on this app":                                                                                  "the requests of this address",
		"The page needs to be reloaded.":      "the requests of this address",
		"Sign in to confirm that this is you": "demands a sign-in",
	} {
		for _, stdout := range []string{
			`{"id":"abcdefghijk","live_status":null,"is_live":null,"formats":[]}`,
			`{"id":"abcdefghijk","live_status":"was_live","is_live":false,"formats":[]}`,
			`{"id":"abcdefghijk","live_status":"not_live","is_live":false,"formats":[]}`,
			`{"id":"abcdefghijk","live_status":"is_live","is_live":true,"formats":[]}`, "",
		} {
			got := ytdlp.Read("abcdefghijk", []byte(stdout), []byte("WARNING: [youtube] "+words+"\nWARNING: No video formats found!\nWARNING: Requested format is not available\n"))
			if got.State != watch.Blocked || !strings.Contains(got.Detail, cause) {
				t.Errorf("%s: got %s (%s)", words, got.State, got.Detail)
			}
		}
	}
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

func TestTheWordsOfARemovedVideoStillEnd(t *testing.T) {
	for _, words := range []string{
		"Video unavailable", "Video unavailable.", "Video unavailable. This video has been removed by the uploader",
		"Video unavailable. This video contains content from ACME, who has blocked it on copyright grounds",
		"Video unavailable. The uploader has closed their YouTube account.", "This video is not available",
		"Video unavailable. This video is no longer available due to a copyright claim by ACME",
	} {
		got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":null,"formats":[]}`), []byte("WARNING: [youtube] "+words+"\n"))
		if got.State != watch.Removed {
			t.Errorf("%s: got %s (%s)", words, got.State, got.Detail)
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
