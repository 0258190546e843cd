package hls_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/hls"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ worker.PlaylistReader = (*hls.Reader)(nil)

const (
	asked = "https://manifest.googlevideo.com/api/manifest/asked"
	final = "https://cdn.example.com/live/720p/index.m3u8?key=s3cr3t"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// read has a Reader read text, which comes from final in the end.
func read(t testing.TB, text string) watch.Playlist {
	t.Helper()
	get := func(_ context.Context, url string, limit int64) ([]byte, string, error) {
		if url != asked || limit != hls.MaxBytes {
			t.Errorf("got asked for %d bytes of %s", limit, url)
		}
		return []byte(text), final, nil
	}
	p := hls.New(get, func() time.Time { return noon }).ReadPlaylist(t.Context(), asked)
	if p.URL != asked || !p.Began.Equal(noon) {
		t.Errorf("URL %q, Began %v", p.URL, p.Began)
	}
	if p.Failure != nil && (p.Renditions != nil || p.Segments != nil || p.Ended || p.TargetDuration != 0) {
		t.Errorf("a failure with contents: %+v", p)
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
	if strings.Contains(p.Failure.Detail, "s3cr3t") || strings.Contains(p.Failure.Detail, "\n") {
		t.Errorf("the detail is %q", p.Failure.Detail)
	}
}

func TestFetchFailures(t *testing.T) {
	cases := map[string]struct {
		err  error
		want watch.FailureKind
	}{
		"an expired URL stays one":                {watch.Failed(watch.FailureExpired, "x: answered 403"), watch.FailureExpired},
		"a failure may be wrapped":                {errors.Join(watch.Failed(watch.FailureTooLarge, "x")), watch.FailureTooLarge},
		"another error is of the network, unsaid": {errors.New("Get " + final + ": boom"), watch.FailureNetwork},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			get := func(context.Context, string, int64) ([]byte, string, error) { return nil, "", c.err }
			p := hls.New(get, func() time.Time { return noon }).ReadPlaylist(t.Context(), asked)
			if p.Failure == nil || p.Failure.Kind != c.want || strings.Contains(p.Failure.Detail, "s3cr3t") {
				t.Errorf("got %v", p.Failure)
			}
			if p.URL != asked || !p.Began.Equal(noon) {
				t.Errorf("URL %q, Began %v", p.URL, p.Began)
			}
		})
	}
	t.Run("a base that is no URL is malformed", func(t *testing.T) {
		get := func(context.Context, string, int64) ([]byte, string, error) { return []byte(live), "http://[::1", nil }
		p := hls.New(get, time.Now).ReadPlaylist(t.Context(), asked)
		if p.Failure == nil || p.Failure.Kind != watch.FailureMalformed {
			t.Errorf("got %v", p.Failure)
		}
	})
	for name, c := range map[string]struct {
		done func(context.Context) (context.Context, context.CancelFunc)
		want watch.FailureKind
	}{
		"stopping stops decoding":     {context.WithCancel, watch.FailureNetwork},
		"decoding has an end in time": {func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 0) }, watch.FailureMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := c.done(t.Context())
			defer cancel()
			get := func(context.Context, string, int64) ([]byte, string, error) {
				cancel()
				return []byte(live), final, nil
			}
			p := hls.New(get, time.Now).ReadPlaylist(ctx, asked)
			if p.Failure == nil || p.Failure.Kind != c.want {
				t.Errorf("got %v", p.Failure)
			}
		})
	}
}

func TestWhatIsNotAPlaylist(t *testing.T) {
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

func TestPanic(t *testing.T) {
	get := func(context.Context, string, int64) ([]byte, string, error) { return []byte(live), final, nil }
	p := hls.New(get, time.Now).ReadPlaylist(panicking{t.Context()}, asked)
	if p.Failure == nil || p.Failure.Kind != watch.FailureMalformed || p.Segments != nil {
		t.Errorf("got %+v", p)
	}
}
