package hls_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// FuzzDecode decodes any text. An accepted playlist is within the limits, and without a
// defect it agrees with the decoder of another library if that accepts the text too. The
// seeds are here and in testdata/fuzz, one shape to a file.
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
		checkLimits(t, p)
		if p.Defect == "" { // libraries disagree about odd entries
			checkOracle(t, p, text)
		}
	})
}

// checkLimits checks every number and URL of p against the package\'s limits.
func checkLimits(t *testing.T, p watch.Playlist) {
	t.Helper()
	if len(p.Renditions) > 0 == (len(p.Segments) > 0 || p.Ended) {
		t.Errorf("a playlist needs either renditions or segments: %+v", p)
	}
	if len(p.Segments) > hls.KeptSegments || len(p.Renditions) > hls.MaxRenditions {
		t.Errorf("%d segments, %d renditions: more than the limits", len(p.Segments), len(p.Renditions))
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
	for _, r := range p.Renditions {
		checkURL(t, r.URL)
		if r.Height < 0 || r.Bandwidth < 0 || r.Alternate && (r.HasVideo || !r.HasAudio) {
			t.Errorf("rendition %+v", r)
		}
	}
	for i, s := range p.Segments {
		checkURL(t, s.URI)
		if s.Duration <= 0 || s.Duration > hls.MaxDuration || i > 0 && s.Sequence <= p.Segments[i-1].Sequence {
			t.Errorf("segment %d: %+v", i, s)
		}
		ranges, keys := []*watch.ByteRange{s.Range}, []*watch.Key{s.Key}
		if s.Init != nil {
			checkURL(t, s.Init.URI)
			ranges, keys = append(ranges, s.Init.Range), append(keys, s.Init.Key)
		}
		for _, r := range ranges {
			if r != nil && (r.Offset < 0 || r.Length <= 0 || r.Offset+r.Length > hls.MaxRangeEnd) {
				t.Errorf("segment %d: range %+v", i, r)
			}
		}
		for _, k := range keys {
			if k == nil {
				continue
			}
			if checkURL(t, k.URI); len(k.IV) != 16 {
				t.Errorf("segment %d: an IV of %d bytes", i, len(k.IV))
			}
		}
	}
}

func checkURL(t *testing.T, raw string) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(raw, "\r\n\x00") || len(raw) > hls.MaxURL {
		t.Errorf("%q is not a URL that can be fetched", raw)
	}
}
