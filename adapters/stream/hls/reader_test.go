package hls_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ manifest.Format = hls.Format{}

// playlistURL is the URL of every playlist in these tests. Its key is a secret.
const playlistURL = "https://cdn.example.com/live/720p/index.m3u8?key=s3cr3t"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// read decodes text. It checks that a failure has no contents and no secret.
func read(t testing.TB, text string) watch.Playlist {
	t.Helper()
	return readAs(t.Context(), t, text, playlistURL)
}

func readAs(ctx context.Context, t testing.TB, text, base string) watch.Playlist {
	t.Helper()
	p, err := hls.Format{}.Decode(ctx, []byte(text), reference.Origin{URL: base}, "")
	if err == nil {
		return p
	}
	if p.Renditions != nil || p.Segments != nil || p.Ended || p.TargetDuration != 0 {
		t.Errorf("the playlist of a failed decoding has contents: %+v", p)
	}
	if p.Failure, _ = errors.AsType[*watch.Failure](err); p.Failure == nil {
		t.Fatalf("the error is not a watch.Failure: %v", err)
	}
	if strings.Contains(p.Failure.Detail, "s3cr3t") || strings.ContainsAny(p.Failure.Detail, "\r\n") {
		t.Errorf("the failure's detail has a secret or a line break: %q", p.Failure.Detail)
	}
	return p
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
	p := read(t, text)
	if p.Failure == nil || p.Failure.Kind != watch.FailureMalformed || !strings.Contains(p.Failure.Detail, detail) {
		t.Fatalf("got %v with %d segments and %d renditions, want malformed with %q",
			p.Failure, len(p.Segments), len(p.Renditions), detail)
	}
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
		t.Run(name, func(t *testing.T) {
			if got := (hls.Format{}).Recognises([]byte(c.text)); got != c.want {
				t.Errorf("recognised: %v, want %v", got, c.want)
			}
		})
	}
}

func TestDecodingThatIsStoppedIsAFailure(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		ctx  context.Context
		base string
		want watch.FailureKind
	}{
		"stopped by its caller":   {stopped, playlistURL, watch.FailureNetwork},
		"a base URL that is none": {t.Context(), "http://[::1", watch.FailureMalformed},
		"a panic of the library":  {panickingContext{t.Context()}, playlistURL, watch.FailureMalformed},
	} {
		if p := readAs(c.ctx, t, live, c.base); p.Failure == nil || p.Failure.Kind != c.want {
			t.Errorf("%s: failure %v", name, p.Failure)
		}
	}
}

// panickingContext panics when the decoder derives its deadline. It stands for a
// panic of the library.
type panickingContext struct{ context.Context }

func (panickingContext) Done() <-chan struct{} { panic("index out of range") }

func TestADocumentThatIsNotAPlaylistIsMalformed(t *testing.T) {
	for name, c := range map[string]struct{ text, detail string }{
		"an empty document":             {"", "does not begin"},
		"blank lines":                   {"\n\r\n \n", "does not begin"},
		"an HTML page":                  {"<!DOCTYPE html>\n<html>", "does not begin"},
		"a segment":                     {"G@\x00\x10\x00" + strings.Repeat("\xff", 183), "does not begin"},
		"a DASH manifest":               {`<?xml version="1.0"?><MPD/>`, "does not begin"},
		"EXTM3U on the second line":     {"#EXT-X-VERSION:3\n" + live, "does not begin"},
		"a tag that begins with EXTM3U": {"#EXTM3U8\n" + live, "does not begin"},
		"a header alone":                {"#EXTM3U\n#EXT-X-VERSION:3\n", "neither"},
		"a list of songs":               {"#EXTM3U\nhttp://example.com/a.mp3\n", "neither"},
		"master and media in one":       {live + "#EXT-X-STREAM-INF:BANDWIDTH=1\nx\n", "segments and variants"},
	} {
		t.Run(name, func(t *testing.T) { wantMalformed(t, c.text, c.detail) })
	}
}
