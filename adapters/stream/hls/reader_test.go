package hls_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

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
