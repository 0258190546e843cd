package livestream_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A packaging without what its name says would be watched alike, and nobody would notice.
func TestAPackagingIsWhatItsNameSays(t *testing.T) {
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range livestream.Packagings() {
		t.Run(p.Name, func(t *testing.T) {
			p.Preroll += 55 * time.Second
			stream, err := library.Start(t.Context(), p.Config)
			if err != nil {
				t.Fatal(err)
			}
			manifest := get(t, stream, stream.Entry())
			if first := regexp.MustCompile(`(?m)^itag/.*m3u8$`).FindString(manifest); first != "" {
				manifest = get(t, stream, first)
			}
			for tag, want := range tagsOf(p) {
				if got := strings.Contains(manifest, tag); got != want {
					t.Errorf("it has %q: %t, want %t:\n%s", tag, got, want, manifest)
				}
			}
			if n := strings.Count(manifest, "#EXTINF"); p.Window >= time.Hour && n < 3600 {
				t.Errorf("%d segments of 1 s are listed, want those of an hour", n)
			}
		})
	}
}

// tagsOf returns what the manifest of a packaging must have, and what not.
func tagsOf(c livestream.Packaged) map[string]bool {
	p := c.Packaging
	hls := p.DASH == livestream.HLS
	return map[string]bool{
		"<MPD":                      !hls,
		"$Time$":                    p.DASH == livestream.TimelineTime,
		"<SegmentTimeline>":         p.DASH == livestream.TimelineTime || p.DASH == livestream.Timeline,
		"#EXTINF":                   hls,
		"#EXT-X-MAP":                hls && p.Container == livestream.FMP4,
		"#EXT-X-BYTERANGE":          p.SingleFile,
		"#EXT-X-KEY:METHOD=AES-128": p.Keys != livestream.Clear,
		"key-5.bin":                 p.Keys == livestream.Rotating,
		"#EXT-X-PROGRAM-DATE-TIME":  hls && p.ProgramTime != livestream.NoDateTime,
		"#EXT-X-GAP":                p.Gaps != nil,
		"#EXT-X-DISCONTINUITY\n":    p.Reconnect > 0 && !p.NoDiscontinuity,
	}
}

// get returns a file that the handler of a stream serves.
func get(t *testing.T, s *livestream.Stream, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+path, nil))
	body, err := io.ReadAll(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, w.Code, err)
	}
	return string(body)
}
