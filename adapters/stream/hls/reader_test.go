package hls_test

import (
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

func TestADocumentThatIsNotAPlaylistIsMalformed(t *testing.T) {
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
	} {
		t.Run(name, func(t *testing.T) { wantMalformed(t, c.text, c.detail) })
	}
}
