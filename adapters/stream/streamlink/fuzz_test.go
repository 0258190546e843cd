package streamlink_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// FuzzRead checks that every output gives a valid Resolution. It never answers for the
// stream's state and has at most one URL. Its Detail is short and has no secret, and it
// can be stored as JSON.
func FuzzRead(f *testing.F) {
	f.Add([]byte(master), []byte(""), 0)
	f.Add([]byte("error: No playable streams found"), []byte(""), 1)
	f.Add([]byte(""), []byte("Traceback"), 1)
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, exit int) {
		got := streamlink.Read(subprocess.Result{ExitCode: exit, Stdout: stdout, Stderr: stderr})
		if got.State.Known() {
			t.Errorf("streamlink cannot know %s", got.State)
		}
		if (got.State == watch.ManifestFound) != (got.Manifest != "") {
			t.Errorf("%s with manifest %q", got.State, got.Manifest)
		}
		if got.Manifest != "" {
			u, err := url.Parse(got.Manifest)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(got.Manifest) > streamlink.MaxURL {
				t.Errorf("%q is not a URL that can be fetched", got.Manifest)
			}
		}
		if len(got.Detail) > pythontool.MaxLine || strings.ContainsAny(got.Detail, "\n\r\x00") || !utf8.ValidString(got.Detail) {
			t.Errorf("detail %q", got.Detail)
		}
		if found := secret.FindString(got.Detail); found != "" {
			t.Errorf("detail %q holds %q", got.Detail, found)
		}
		if _, err := json.Marshal(got); err != nil || len(got.Renditions) > 0 {
			t.Errorf("the resolution cannot be stored as JSON: %v", err)
		}
	})
}

// secret matches what no Detail may contain: more of a URL than its host, and the signed
// paths of YouTube's media.
var secret = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>\\/?#]*(?:@|[/?#][/?#.,;:)\]]*[^\s"'<>\\/?#.,;:)\]…])|/(?:videoplayback|api/manifest)\b`)
