package hls_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ manifest.Format = hls.Format{}

// final is where every playlist of these tests comes from.
const final = "https://cdn.example.com/live/720p/index.m3u8?key=s3cr3t"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// read decodes text.
func read(t testing.TB, text string) watch.Playlist {
	t.Helper()
	return readAs(t.Context(), t, text, final)
}

func readAs(ctx context.Context, t testing.TB, text, base string) watch.Playlist {
	t.Helper()
	p, err := hls.Format{}.Decode(ctx, []byte(text), base, "")
	if err == nil {
		return p
	}
	if p.Renditions != nil || p.Segments != nil || p.Ended || p.TargetDuration != 0 {
		t.Errorf("a failure with contents: %+v", p)
	}
	if p.Failure, _ = errors.AsType[*watch.Failure](err); p.Failure == nil {
		t.Fatalf("not a failure: %v", err)
	}
	if strings.Contains(p.Failure.Detail, "s3cr3t") || strings.ContainsAny(p.Failure.Detail, "\r\n") {
		t.Errorf("the detail is %q", p.Failure.Detail)
	}
	return p
}

// mustRead is read of something that is fine.
func mustRead(t testing.TB, text string) watch.Playlist {
	t.Helper()
	p := read(t, text)
	if p.Failure != nil {
		t.Fatal(p.Failure)
	}
	return p
}

// wantMalformed checks that text is refused, and why.
func wantMalformed(t testing.TB, text, says string) {
	t.Helper()
	p := read(t, text)
	if p.Failure == nil || p.Failure.Kind != watch.FailureMalformed || !strings.Contains(p.Failure.Detail, says) {
		t.Fatalf("got %v with %d segments and %d renditions, want malformed saying %q",
			p.Failure, len(p.Segments), len(p.Renditions), says)
	}
}

func TestAPlaylistIsRecognisedByItsBytes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"a playlist":                    {live, true},
		"one with a byte order mark":    {"\ufeff" + live, true},
		"one after blank lines":         {"\r\n \n" + live, true},
		"one that is a header alone":    {"#EXTM3U", true},
		"nothing":                       {"", false},
		"a page":                        {"<!DOCTYPE html>\n", false},
		"an MPD":                        {`<?xml version="1.0"?><MPD/>`, false},
		"a playlist that is further on": {"# a comment\n" + live, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (hls.Format{}).Recognises([]byte(c.text)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestDecodingCanBeStopped(t *testing.T) {
	for name, c := range map[string]struct {
		done func(context.Context) (context.Context, context.CancelFunc)
		want watch.FailureKind
	}{
		"by its caller":      {context.WithCancel, watch.FailureNetwork},
		"by the end of time": {func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 0) }, watch.FailureMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := c.done(t.Context())
			cancel()
			if p := readAs(ctx, t, live, final); p.Failure == nil || p.Failure.Kind != c.want {
				t.Errorf("got %v", p.Failure)
			}
		})
	}
}

func TestAnInvalidBaseURLIsMalformed(t *testing.T) {
	if p := readAs(t.Context(), t, live, "http://[::1"); p.Failure == nil || p.Failure.Kind != watch.FailureMalformed {
		t.Errorf("got %v", p.Failure)
	}
}

func TestOtherDocumentsAreNoPlaylists(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"nothing":                   {"", "does not begin"},
		"blank lines":               {"\n\r\n \n", "does not begin"},
		"a page":                    {"<!DOCTYPE html>\n<html>", "does not begin"},
		"a segment":                 {"G@\x00\x10\x00" + strings.Repeat("\xff", 183), "does not begin"},
		"a DASH manifest":           {`<?xml version="1.0"?><MPD/>`, "does not begin"},
		"EXTM3U in second place":    {"#EXT-X-VERSION:3\n" + live, "does not begin"},
		"something like EXTM3U":     {"#EXTM3U8\n" + live, "does not begin"},
		"a header alone":            {"#EXTM3U\n#EXT-X-VERSION:3\n", "neither"},
		"a list of songs":           {"#EXTM3U\nhttp://example.com/a.mp3\n", "neither"},
		"master and media in one":   {live + "#EXT-X-STREAM-INF:BANDWIDTH=1\nx\n", "of a master and of a media"},
		"media and master in one":   {muxed + "#EXT-X-ENDLIST\n", "of a master and of a media"},
		"a playlist with variables": {live + "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"b\"\n", "DEFINE"},
	} {
		t.Run(name, func(t *testing.T) { wantMalformed(t, c.text, c.says) })
	}
}

// panicking stands for a decoder that panics: it does when a deadline is put on it.
type panicking struct{ context.Context }

func (panicking) Done() <-chan struct{} { panic("index out of range") }

func TestAPanicOfTheLibraryFailsOnePlaylist(t *testing.T) {
	if p := readAs(panicking{t.Context()}, t, live, final); p.Failure == nil || p.Failure.Kind != watch.FailureMalformed {
		t.Errorf("got %+v", p)
	}
}
