package hls_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
)

// FuzzDecode decodes any text. An accepted playlist is within the limits. The seeds are here
// and in testdata/fuzz, one shape to a file.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{live, youtube, muxed, apple, lowLatency, live + "#EXTINF:0,\n1:2%.ts\nx\n", "#EXTM3U\n#EXT-X-STREAM-INF:CODECS=a,b\nv\n",
		"\ufeff" + live, strings.ReplaceAll(live, "\n", "\r\n\r\n")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := read(t, text)
		if p.Failure != nil {
			if len(p.Failure.Detail) > 200 {
				t.Errorf("the failure has %d bytes of detail", len(p.Failure.Detail))
			}
			return
		}
		manifesttest.CheckPlaylist(t, p, manifesttest.Limits{
			Segments: hls.KeptSegments, Renditions: hls.MaxRenditions, URL: hls.MaxURL, RangeEnd: hls.MaxRangeEnd, MinDuration: 1, MaxDuration: hls.MaxDuration,
		})
		for i := 1; i < len(p.Segments); i++ {
			if p.Segments[i].Sequence <= p.Segments[i-1].Sequence {
				t.Errorf("segment %d has the number %d", i, p.Segments[i].Sequence)
			}
		}
	})
}
