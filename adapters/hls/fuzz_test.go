package hls_test

import (
	"encoding/json"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	oracle "github.com/Eyevinn/hls-m3u8/m3u8"

	"github.com/stream-monitor/stream-monitor/adapters/hls"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// FuzzDecode feeds the reader anything. What it accepts keeps its promises, and
// says the same as a decoder of another author, where that accepts it too.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		live, youtube, muxed, "\ufeff" + live, strings.ReplaceAll(live, "\n", "\r\n\r\n"), live + "#EXT-X-ENDLIST\n",
		list("#EXT-X-KEY:METHOD=NONE", "", "#EXTINF:5,", "a"), list(`#EXT-X-MAP:URI="i"`, "", "#EXTINF:NaN,", "a"),
		list("#EXTINF:-5,", "a"), list("#EXT-X-SKIP:SKIPPED-SEGMENTS=3", "#EXTINF:5,", "a"),
		list("#EXTINF:5,", "#EXT-X-GAP", "a", "#EXTINF:5,", "b"), list("#EXTINF:5,", "", "a"),
		list("#EXTINF:5,", "#EXT-X-BYTERANGE:5@1", "a", "#EXTINF:5,", "#EXT-X-BYTERANGE:5", "a"),
		list("#EXTINF:5,", "a", "#EXT-X-DISCONTINUITY", "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:00+0900", "#EXTINF:5,", "b"),
		"#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"b\"\n#EXT-X-STREAM-INF:AUDIO=\"a\",CODECS=\"avc1.1\"\nv\n#EXT-X-START:TIME-OFFSET=1\n",
		"#EXTM3U\n#EXT-X-STREAM-INF\n0\n#EXT-X-STREAM-INF:\n0", list("#EXTINF:5,", "#EXT-X-GAPS", "a"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := read(t, text)
		if p.Failure != nil {
			return
		}
		checkPromises(t, p)
		checkOracle(t, p, text)
	})
}

func checkPromises(t *testing.T, p watch.Playlist) {
	t.Helper()
	if len(p.Renditions) > 0 == (len(p.Segments) > 0 || p.Ended) {
		t.Errorf("neither or both kinds: %+v", p)
	}
	if len(p.Segments) > hls.KeptSegments || len(p.Renditions) > hls.MaxVariants {
		t.Errorf("%d segments, %d renditions", len(p.Segments), len(p.Renditions))
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
	for _, r := range p.Renditions {
		checkURL(t, r.URL)
		if r.Height < 0 || r.Bandwidth < 0 {
			t.Errorf("got %+v", r)
		}
	}
	for i, s := range p.Segments {
		checkURL(t, s.URI)
		if s.Duration <= 0 || s.Duration > hls.MaxDuration || i > 0 && s.Sequence <= p.Segments[i-1].Sequence {
			t.Errorf("segment %d: %+v", i, s)
		}
		ranges := []*watch.ByteRange{s.Range}
		if s.Init != nil {
			checkURL(t, s.Init.URI)
			ranges = append(ranges, s.Init.Range)
		}
		for _, r := range ranges {
			if r != nil && (r.Offset < 0 || r.Length <= 0 || r.Offset+r.Length > hls.MaxRangeEnd) {
				t.Errorf("segment %d: %+v", i, r)
			}
		}
	}
}

func checkURL(t *testing.T, raw string) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(raw, "\r\n\x00") {
		t.Errorf("not a URL to fetch: %q", raw)
	}
}

// checkOracle compares p with what the oracle makes of text.
func checkOracle(t *testing.T, p watch.Playlist, text string) {
	t.Helper()
	list, ok := askOracle(text)
	if !ok {
		return
	}
	base, err := url.Parse(final)
	if err != nil {
		t.Fatal(err)
	}
	same := func(got, reference string) bool {
		want, err := base.Parse(reference)
		if err != nil {
			return false
		}
		want.Fragment, want.RawFragment = "", ""
		return got == want.String()
	}
	switch list := list.(type) {
	case *oracle.MasterPlaylist:
		var variants []*oracle.Variant
		for _, v := range list.Variants {
			if !v.Iframe {
				variants = append(variants, v)
			}
		}
		if len(variants) != len(p.Renditions) {
			t.Fatalf("%d renditions, the oracle has %d", len(p.Renditions), len(variants))
		}
		for i, v := range variants {
			if r := p.Renditions[i]; !same(r.URL, v.URI) || r.Bandwidth != int(v.Bandwidth) {
				t.Errorf("rendition %d: %+v, the oracle has %+v", i, r, v)
			}
		}
	case *oracle.MediaPlaylist:
		var segments []*oracle.MediaSegment
		all := list.GetAllSegments()
		for _, s := range all[max(0, len(all)-hls.KeptSegments):] {
			if !s.Gap {
				segments = append(segments, s)
			}
		}
		if len(segments) != len(p.Segments) || list.Closed != p.Ended {
			t.Fatalf("%d segments, ended: %v; the oracle has %d, %v", len(p.Segments), p.Ended, len(segments), list.Closed)
		}
		for i, want := range segments {
			got := p.Segments[i]
			off := math.Abs(got.Duration.Seconds() - want.Duration)
			if !same(got.URI, want.URI) || off > time.Nanosecond.Seconds() || got.Sequence != want.SeqId {
				t.Errorf("segment %d: %+v, the oracle has %+v", i, got, want)
			}
		}
	}
}

// askOracle is false when the oracle does not accept text. White space around
// lines, which RFC 8216 does not allow, the oracle would take for part of them,
// and any tag that begins like a gap for one.
func askOracle(text string) (list oracle.Playlist, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
		if rest, ok := strings.CutPrefix(lines[i], "#EXT-X-GAP"); ok && rest != "" {
			lines[i] = "#"
		}
	}
	list, _, err := oracle.DecodeFrom(strings.NewReader(strings.Join(lines, "\n")), true)
	return list, err == nil
}
