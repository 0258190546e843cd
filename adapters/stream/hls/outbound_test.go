package hls_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// A playlist may name any host. The HTTP client decides whether a host is allowed.
// The decoder must return the host unchanged, or refuse the playlist.
func TestHostsAreReturnedUnchanged(t *testing.T) {
	for _, c := range outboundtest.Cases() {
		for _, scheme := range []string{"http:", "https:", ""} {
			target := strings.TrimPrefix(c.URL("https", "8443"), "https:")
			t.Run(c.Name+" by "+scheme, func(t *testing.T) {
				written, err := url.Parse("https:" + target)
				check := func(name, got string) {
					t.Helper()
					u, gotErr := url.Parse(got)
					if err != nil || gotErr != nil || u.Host != written.Host || u.User.String() != written.User.String() {
						t.Errorf("%s: %q became %q", name, target, got)
					}
				}
				media := read(t, mediaPlaylist(`#EXT-X-MAP:URI="`+scheme+target+`"`, "#EXTINF:5,", scheme+target))
				if media.Failure == nil {
					check("segment", media.Segments[0].URI)
					check("init section", media.Segments[0].Init.URI)
				}
				master := read(t, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n"+scheme+target+"\n")
				if master.Failure == nil && master.Defect == "" { // a line break ends a URI, and the rest is left out
					check("rendition", master.Renditions[0].URL)
				}
				if c.Verdict == outboundtest.Allowed && (media.Failure != nil || master.Failure != nil) {
					t.Errorf("an allowed host is refused: %v, %v", media.Failure, master.Failure)
				}
				for _, f := range []*watch.Failure{media.Failure, master.Failure} {
					if f != nil && f.Kind != watch.FailureMalformed {
						t.Errorf("failure %v, want a malformed playlist", f)
					}
				}
			})
		}
	}
}
