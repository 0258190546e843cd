package hls_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
)

func TestLargePlaylistsAreDecodedWithinLimits(t *testing.T) {
	t.Run("a master playlist of 400 × 400 entries is refused in time", func(t *testing.T) {
		start := time.Now()
		wantMalformed(t, "#EXTM3U\n"+strings.Repeat("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"b\"\n", 400)+variants(400)[len("#EXTM3U\n"):], "more than")
		checkDecodeTime(t, start)
	})
	t.Run("the largest master playlist is decoded in time", func(t *testing.T) {
		long := strings.Repeat("b", hls.MaxURL-100)
		text := "#EXTM3U\n" + strings.Repeat("#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\",CODECS=\""+long+"\"\nv\n", hls.MaxVariants)
		for i := range hls.MaxMedia {
			text += fmt.Sprintf("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"%s%d\"\n", long, i)
		}
		start := time.Now()
		if p := mustRead(t, text); len(p.Renditions) != hls.MaxRenditions {
			t.Errorf("got %d renditions", len(p.Renditions))
		}
		checkDecodeTime(t, start)
	})
	t.Run("the largest number of the longest keys and maps is decoded in time", func(t *testing.T) {
		long := strings.Repeat("b", 380)
		var b strings.Builder
		for i := range hls.MaxLines/4 - 1 {
			fmt.Fprintf(&b, "#EXT-X-KEY:METHOD=AES-128,URI=\"%s%d\",IV=0x1\n#EXT-X-MAP:URI=\"%s%d\"\n#EXTINF:1,\ns%d\n", long, i, long, i, i)
		}
		start := time.Now()
		if p := mustRead(t, mediaPlaylist(b.String())); len(p.Segments) != hls.KeptSegments {
			t.Errorf("got %d segments", len(p.Segments))
		}
		checkDecodeTime(t, start)
	})
	t.Run("the newest segments of a long window are kept", func(t *testing.T) {
		start := time.Now()
		for _, n := range []int{hls.KeptSegments - 1, hls.KeptSegments, hls.KeptSegments + 1, hls.MaxSegments} {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "#EXTINF:2,\ns/%d/%s\n", i, strings.Repeat("x", 700))
			}
			p := mustRead(t, mediaPlaylist("#EXT-X-MEDIA-SEQUENCE:100", "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:00Z")+b.String())
			last := p.Segments[len(p.Segments)-1]
			if len(p.Segments) != min(n, hls.KeptSegments) || last.Sequence != uint64(100+n-1) ||
				!strings.Contains(last.URI, fmt.Sprintf("/s/%d/", n-1)) ||
				!last.ProgramTime.Equal(noon.Add(time.Duration(n-1)*2*time.Second)) {
				t.Errorf("%d segments: kept %d, the last is %+v", n, len(p.Segments), last)
			}
		}
		checkDecodeTime(t, start)
	})
}

// The test reaches the limit to the byte: 512 segments of 8 KB are 4 MB.
func TestTheBytesOfKeptURLsAreLimited(t *testing.T) {
	const n = hls.KeptURLs / hls.MaxURL
	plain := func(n, size int) string { return strings.Repeat("#EXTINF:5,\n"+address(size)+"\n", n) }
	encrypted := func(key int) string { // the key counts for the map too
		return fmt.Sprintf("#EXT-X-KEY:METHOD=AES-128,IV=0x1,URI=%q\n#EXT-X-MAP:URI=%q\n", address(key), address(1000)) + plain(n, hls.MaxURL-3000)
	}
	for name, c := range map[string]struct {
		text string
		kept int
	}{
		"exactly the limit":                              {plain(n, hls.MaxURL), n},
		"exactly the limit, in more segments":            {plain(1, 100) + plain(1, hls.MaxURL-100) + plain(n-1, hls.MaxURL), n + 1},
		"one byte more drops the oldest segment":         {plain(1, 100) + plain(1, hls.MaxURL-99) + plain(n-1, hls.MaxURL), n},
		"the bytes of keys and maps count":               {encrypted(1000), n},
		"a larger key of every segment drops the oldest": {encrypted(1001), n - 1},
		"the newest segments are kept in their order":    {plain(n, hls.MaxURL-1) + plain(n, hls.MaxURL), n},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, mediaPlaylist(c.text))
			first, last := p.Segments[0], p.Segments[len(p.Segments)-1]
			if got := len(p.Segments); got != c.kept || last.Sequence != first.Sequence+uint64(got-1) {
				t.Errorf("kept %d segments, want %d, from %d to %d", got, c.kept, first.Sequence, last.Sequence)
			}
			if lines := strings.Split(strings.TrimSpace(c.text), "\n"); last.URI != lines[len(lines)-1] {
				t.Errorf("the last kept segment is %q, want the newest", last.URI)
			}
		})
	}
}

// checkDecodeTime allows ten times the limit, for slow machines and the race
// detector.
func checkDecodeTime(t *testing.T, start time.Time) {
	t.Helper()
	if took := time.Since(start); took > 10*hls.DecodeTime {
		t.Errorf("decoding took %v, at most %v is allowed", took, 10*hls.DecodeTime)
	}
}
