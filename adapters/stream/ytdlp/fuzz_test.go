package ytdlp_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// FuzzRead checks that every output gives a valid Resolution. Its state is known, its
// Detail is short and has no secret, and it can be stored as JSON. Only a live stream
// has URLs.
func FuzzRead(f *testing.F) {
	for _, r := range recordedRuns(f) {
		f.Add(r.stdout, r.stderr)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr []byte) {
		var head struct{ ID string }
		_ = json.Unmarshal(stdout, &head)
		got := ytdlp.Read(head.ID, stdout, stderr)
		switch got.State {
		case watch.Live, watch.Upcoming, watch.Offline, watch.Ended, watch.NotALiveStream, watch.Private, watch.Removed,
			watch.RegionLocked, watch.AgeRestricted, watch.MembersOnly, watch.Blocked, watch.RateLimited,
			watch.NameUnresolved, watch.ProxyFailed, watch.Unreachable, watch.ToolFailed:
		default:
			t.Errorf("state %q", got.State)
		}
		checkDetail(t, got.Detail)
		if got.State != watch.Live && (len(got.Renditions) > 0 || got.Manifest != "" || !got.Expires.IsZero()) {
			t.Errorf("%s with media", got.State)
		}
		if len(got.Renditions) > ytdlp.MaxRenditions {
			t.Errorf("%d renditions", len(got.Renditions))
		}
		if got.Manifest != "" {
			checkURL(t, got.Manifest)
		}
		for _, r := range got.Renditions {
			checkURL(t, r.URL)
			if r.Height < 0 || r.Bandwidth < 0 || r.Alternate && !r.HasAudio {
				t.Errorf("rendition %+v", r)
			}
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("the resolution cannot be stored as JSON: %v", err)
		}
	})
}

// secret matches what no Detail may contain: more of a URL than its host, and the signed
// paths of YouTube's media.
var secret = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>\\/?#]*(?:@|[/?#][/?#.,;:)\]]*[^\s"'<>\\/?#.,;:)\]…])|/(?:videoplayback|api/manifest)\b`)

func checkDetail(t *testing.T, detail string) {
	t.Helper()
	if len(detail) > pythontool.MaxLine || strings.ContainsAny(detail, "\n\r\x00") || !utf8.ValidString(detail) {
		t.Errorf("detail %q", detail)
	}
	if found := secret.FindString(detail); found != "" {
		t.Errorf("detail %q holds %q", detail, found)
	}
}

func checkURL(t *testing.T, raw string) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(raw) > ytdlp.MaxURL {
		t.Errorf("%q is not a URL that can be fetched", raw)
	}
}
