package hls_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
)

// Each playlist is decoded whole at the limit. One beyond it, it is malformed, or the entry
// beyond it is left out or repaired.
func TestAPlaylistBeyondALimitIsMalformed(t *testing.T) {
	for name, c := range map[string]struct {
		limit    int
		playlist func(n int) string // a playlist with n of the limited things
		detail   string             // a part of the failure's detail
	}{
		"lines": {hls.MaxLines, lines, "more than 40000 lines"},
		"bytes of a line": {hls.MaxLine, func(n int) string {
			return mediaPlaylist("#EXTINF:5,"+strings.Repeat("x", n-len("#EXTINF:5,"))+"\r", "a")
		}, "line 3 is longer than 16384 bytes"},
		"segments":             {hls.MaxSegments, func(n int) string { return mediaPlaylist(segments(n)) }, "more than 10000 segments"},
		"variants":             {hls.MaxVariants, variants, "more than 200 renditions"},
		"I-frame playlists":    {hls.MaxVariants - 1, func(n int) string { return variants(1) + strings.Repeat("#EXT-X-I-FRAME-STREAM-INF:URI=\"i\"\n", n) }, "more than 200 renditions"},
		"EXT-X-MEDIA tags":     {hls.MaxMedia, func(n int) string { return variants(1) + strings.Repeat("#EXT-X-MEDIA:TYPE=VIDEO\n", n) }, "200 EXT-X-MEDIA"},
		"audio renditions":     {hls.MaxMedia, func(n int) string { return variants(hls.MaxVariants) + audioRenditions(n) }, "200 EXT-X-MEDIA"},
		"attributes":           {hls.MaxAttributes, func(n int) string { return "#EXTM3U\n#EXT-X-STREAM-INF:" + attributes(n) + "\nv\n" }, "attribute list"},
		"attributes of a key":  {hls.MaxAttributes - 1, func(n int) string { return mediaPlaylist("#EXT-X-KEY:METHOD=NONE,"+attributes(n), "#EXTINF:5,", "a") }, "attribute list"},
		"duration":             {milliseconds(hls.MaxDuration), func(n int) string { return mediaPlaylist("#EXTINF:"+thousandths(n)+",", "a") }, "EXTINF is not a positive number"},
		"digits of a duration": {32, func(n int) string { return mediaPlaylist("#EXTINF:5."+strings.Repeat("0", n-len("5."))+",", "a") }, "EXTINF is not a positive number"},
		"target duration":      {milliseconds(hls.MaxDuration), func(n int) string { return "#EXTM3U\n#EXT-X-TARGETDURATION:" + thousandths(n) + "\n" + segments(1) }, "TARGETDURATION is missing or not"},
		"end of a range":       {hls.MaxRangeEnd, func(n int) string { return mediaPlaylist("#EXTINF:5,", fmt.Sprintf("#EXT-X-BYTERANGE:1@%d", n-1), "a") }, "BYTERANGE is not"},
		"length of a range":    {hls.MaxRangeEnd, func(n int) string { return mediaPlaylist("#EXTINF:5,", fmt.Sprintf("#EXT-X-BYTERANGE:%d@0", n), "a") }, "BYTERANGE is not"},
		"end of a range without an offset": {hls.MaxRangeEnd, func(n int) string {
			return mediaPlaylist("#EXTINF:5,", fmt.Sprintf("#EXT-X-BYTERANGE:1@%d", n-2), "a", "#EXTINF:5,", "#EXT-X-BYTERANGE:1", "a")
		}, "does not follow"},
		"end of a map's range": {hls.MaxRangeEnd, func(n int) string {
			return mediaPlaylist(fmt.Sprintf(`#EXT-X-MAP:URI="i",BYTERANGE="1@%d"`, n-1), "#EXTINF:5,", "a")
		}, "BYTERANGE of EXT-X-MAP"},
		"digits of an IV": {32, func(n int) string {
			return mediaPlaylist(`#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x`+strings.Repeat("f", n), "#EXTINF:5,", "a")
		}, "up to 32 hexadecimal digits"},

		"a URL":       {hls.MaxURL, func(n int) string { return mediaPlaylist("#EXTINF:5,", address(n)) }, "of at most 8192 bytes"},
		"a map's URL": {hls.MaxURL, func(n int) string { return mediaPlaylist(`#EXT-X-MAP:URI="`+address(n)+`"`, "#EXTINF:5,", "a") }, "EXT-X-MAP is not an http or https URL of at most 8192 bytes"},
		"a key's URL": {hls.MaxURL, func(n int) string {
			return mediaPlaylist(`#EXT-X-KEY:METHOD=AES-128,URI="`+address(n)+`"`, "#EXTINF:5,", "a")
		}, "EXT-X-KEY is not an http or https URL of at most 8192 bytes"},
		"an audio rendition's URL": {hls.MaxURL, func(n int) string { return variants(1) + `#EXT-X-MEDIA:TYPE=AUDIO,URI="` + address(n) + "\"\n" }, "EXT-X-MEDIA is not an http or https URL of at most 8192 bytes"},
		"a variant's URL":          {hls.MaxURL, func(n int) string { return "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n" + address(n) }, "a rendition is not an http or https URL of at most 8192 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			if p := mustRead(t, c.playlist(c.limit)); p.Defect != "" {
				t.Errorf("at the limit: %s", p.Defect)
			}
			if p := read(t, c.playlist(c.limit+1)); p.Failure == nil {
				manifesttest.WantDefect(t, p, c.detail)
			} else {
				wantMalformed(t, c.playlist(c.limit+1), c.detail)
			}
		})
	}
}

func lines(n int) string    { return mediaPlaylist("#EXTINF:5,", "a") + strings.Repeat("\n", n-4) }
func segments(n int) string { return strings.Repeat("#EXTINF:5,\na\n", n) }
func address(n int) string {
	return "https://a.example/" + strings.Repeat("x", n-len("https://a.example/"))
}

func variants(n int) string {
	return "#EXTM3U\n" + strings.Repeat("#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nv\n", n)
}

func audioRenditions(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"s%d\"\n", i)
	}
	return b.String()
}

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ",A%d=1", i)
	}
	return b.String()[1:]
}

func milliseconds(d time.Duration) int { return int(d / time.Millisecond) }
func thousandths(n int) string         { return fmt.Sprintf("%d.%03d", n/1000, n%1000) }

func TestSequenceNumbersAreLimited(t *testing.T) {
	text := func(sequence, skipped uint64, segments int) string {
		return mediaPlaylist(fmt.Sprintf("#EXT-X-MEDIA-SEQUENCE:%d", sequence), fmt.Sprintf("#EXT-X-SKIP:SKIPPED-SEGMENTS=%d", skipped)) +
			strings.Repeat("#EXTINF:5,\na\n", segments)
	}
	for name, c := range map[string]struct{ sequence, skipped uint64 }{
		"of the playlist":        {hls.MaxSequence - 2, 0},
		"after skipped segments": {hls.MaxSequence - 12, 10},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, text(c.sequence, c.skipped, 2))
			if got := p.Segments[1].Sequence; got != hls.MaxSequence-1 {
				t.Errorf("the last sequence number is %d, want %d", got, uint64(hls.MaxSequence-1))
			}
			wantNoNumbers(t, text(c.sequence, c.skipped, 3), "come to more than")
		})
	}
	wantNoNumbers(t, text(1<<63, 0, 1), "MEDIA-SEQUENCE")
	wantNoNumbers(t, text(0, 1<<63, 1), "EXT-X-SKIP")
	wantNoNumbers(t, text(1<<63-1, 1<<63-1, 1), "come to more than")
}

// A playlist that takes longer than DecodeTime would be malformed.
func TestLargePlaylistsAreDecodedInTime(t *testing.T) {
	master := "#EXTM3U\n" + strings.Repeat("#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\",CODECS=\""+strings.Repeat("b", hls.MaxURL-100)+"\"\nv\n", hls.MaxVariants)
	for i := range hls.MaxMedia {
		master += fmt.Sprintf("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"%s%d\"\n", strings.Repeat("b", hls.MaxURL-100), i)
	}
	if p := mustRead(t, master); len(p.Renditions) != hls.MaxRenditions {
		t.Errorf("got %d renditions", len(p.Renditions))
	}
	var keys strings.Builder
	for i := range hls.MaxLines/4 - 1 {
		long := strings.Repeat("b", 380)
		fmt.Fprintf(&keys, "#EXT-X-KEY:METHOD=AES-128,URI=\"%s%d\",IV=0x1\n#EXT-X-MAP:URI=\"%s%d\"\n#EXTINF:1,\ns%d\n", long, i, long, i, i)
	}
	if p := mustRead(t, mediaPlaylist(keys.String())); len(p.Segments) != hls.KeptSegments {
		t.Errorf("got %d segments", len(p.Segments))
	}
}

func TestTheNewestSegmentsOfALongWindowAreKept(t *testing.T) {
	for _, n := range []int{hls.KeptSegments - 1, hls.KeptSegments, hls.KeptSegments + 1, hls.MaxSegments} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "#EXTINF:2,\ns/%d/%s\n", i, strings.Repeat("x", 700))
		}
		p := mustRead(t, mediaPlaylist("#EXT-X-MEDIA-SEQUENCE:100", "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:00Z")+b.String())
		last := p.Segments[len(p.Segments)-1]
		if len(p.Segments) != min(n, hls.KeptSegments) || last.Sequence != uint64(100+n-1) || !strings.Contains(last.URI, fmt.Sprintf("/s/%d/", n-1)) ||
			!last.ProgramTime.Equal(noon.Add(time.Duration(n-1)*2*time.Second)) {
			t.Errorf("%d segments: kept %d, the last is %+v", n, len(p.Segments), last)
		}
	}
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
