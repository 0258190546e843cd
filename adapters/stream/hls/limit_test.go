package hls_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
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

const (
	// baseURL is the folder of the playlists in these tests.
	baseURL = "https://cdn.example.com/live/720p/"
	// playlistURL is the URL of every playlist.
	playlistURL = baseURL + "index.m3u8?key=" + manifesttest.Secret
)

var noon = manifesttest.Noon

// Playlists as packagers and YouTube write them.
var (
	//go:embed testdata/youtube.m3u8
	youtube string // its segments have signed paths that contain "index.m3u8"
	//go:embed testdata/muxed.m3u8
	muxed string // a master playlist of YouTube
	//go:embed testdata/apple.m3u8
	apple string // Apple's example of a stream with demuxed video and audio
	//go:embed testdata/low-latency.m3u8
	lowLatency string // the example of RFC 8216bis, B.1: two complete segments, their parts, and those of a third one
)

// read decodes text.
func read(t testing.TB, text string) watch.Playlist {
	t.Helper()
	return manifesttest.Decode(t.Context(), t, hls.Format{}, text, playlistURL, "")
}

// mustRead decodes text, which must be a valid playlist.
func mustRead(t testing.TB, text string) watch.Playlist {
	t.Helper()
	p := read(t, text)
	if p.Failure != nil {
		t.Fatal(p.Failure)
	}
	return p
}

// wantMalformed checks that text is refused with this detail.
func wantMalformed(t testing.TB, text, detail string) {
	t.Helper()
	manifesttest.WantMalformed(t, read(t, text), detail)
}

func TestAPlaylistIsRecognisedByItsFirstBytes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"a playlist":                        {live, true},
		"a playlist with a byte order mark": {"\ufeff" + live, true},
		"a playlist after blank lines":      {"\r\n \n" + live, true},
		"a header alone":                    {"#EXTM3U", true},
		"an empty document":                 {"", false},
		"an HTML page":                      {"<!DOCTYPE html>\n", false},
		"an MPD":                            {`<?xml version="1.0"?><MPD/>`, false},
		"a playlist after a comment":        {"# a comment\n" + live, false},
	} {
		if got := (hls.Format{}).Recognises([]byte(c.text)); got != c.want {
			t.Errorf("%s: recognised: %v, want %v", name, got, c.want)
		}
	}
}

func TestDecodingThatIsStoppedIsAFailure(t *testing.T) {
	manifesttest.TestStopped(t, hls.Format{}, live, hls.DecodeTime)
}

func TestAMalformedPlaylistIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, detail string }{
		"an empty document":             {"", "does not begin"},
		"blank lines":                   {"\n\r\n \n", "does not begin"},
		"an HTML page":                  {"<!DOCTYPE html>\n<html>", "does not begin"},
		"a segment":                     {"G@\x00\x10\x00" + strings.Repeat("\xff", 183), "does not begin"},
		"EXTM3U on the second line":     {"#EXT-X-VERSION:3\n" + live, "does not begin"},
		"a tag that begins with EXTM3U": {"#EXTM3U8\n" + live, "does not begin"},
		"a header alone":                {"#EXTM3U\n#EXT-X-VERSION:3\n", "neither"},
		"a list of songs":               {"#EXTM3U\nhttp://example.com/a.mp3\n", "neither"},
		"master and media in one":       {live + "#EXT-X-STREAM-INF:BANDWIDTH=1\nx\n", "segments and variants"},

		"a live playlist without segments": {mediaPlaylist(), "without a usable segment"},
		"a live playlist of gaps only":     {mediaPlaylist("#EXTINF:5,", "#EXT-X-GAP", "a"), "without a usable segment"},
		"a map with a bad range":           {mediaPlaylist(`#EXT-X-MAP:URI="i",BYTERANGE="x"`, "#EXTINF:5,", "a"), "BYTERANGE of EXT-X-MAP"},
		"an empty range":                   {mediaPlaylist("#EXTINF:5,", "#EXT-X-BYTERANGE:0@1", "a"), "EXT-X-BYTERANGE is not"},

		"no rendition":                   {"#EXTM3U\n" + `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",URI="a"` + "\n", "without a rendition"},
		"I-frame playlists only":         {"#EXTM3U\n" + `#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="i"` + "\n", "without a rendition"},
		"a quote without end":            {"#EXTM3U\n" + "#EXT-X-STREAM-INF:CODECS=\"avc1\na" + "\n", "attribute list"},
		"a quote within a word":          {"#EXTM3U\n" + "#EXT-X-STREAM-INF:CODECS=a\"b\"\na" + "\n", "attribute list"},
		"no comma after a quote":         {"#EXTM3U\n" + "#EXT-X-STREAM-INF:CODECS=\"a\" BANDWIDTH=1\na" + "\n", "attribute list"},
		"an attribute without value":     {"#EXTM3U\n" + "#EXT-X-STREAM-INF:BANDWIDTH=,CODECS=\"a\"\na" + "\n", "attribute list"},
		"an attribute without name":      {"#EXTM3U\n" + "#EXT-X-STREAM-INF:=1\na" + "\n", "attribute list"},
		"a name with a space":            {"#EXTM3U\n" + "#EXT-X-STREAM-INF:BAND WIDTH=1\na" + "\n", "attribute list"},
		"a space before the equals sign": {"#EXTM3U\n" + "#EXT-X-STREAM-INF:BANDWIDTH =1\na" + "\n", "attribute list"},
		"an attribute twice":             {"#EXTM3U\n" + "#EXT-X-STREAM-INF:BANDWIDTH=1,BANDWIDTH=2\na" + "\n", "attribute list"},
		"no attributes":                  {"#EXTM3U\n" + "#EXT-X-STREAM-INF:\na" + "\n", "attribute list"},
	} {
		t.Run(name, func(t *testing.T) { wantMalformed(t, c.text, c.detail) })
	}
	for _, duration := range []string{"NaN", "nan", "Inf", "+Inf", "-5", "+5", "0", "0.0", "0.0000000001", "1e1", "0x5", "1_0", "", ".", "5.0.0", "5s", "٥"} {
		wantMalformed(t, mediaPlaylist("#EXTINF:"+duration+",", "a"), "EXTINF is not a positive number")
	}
}

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
