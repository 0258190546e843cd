package ffmpeg_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestBytesThatAreNotASegmentAreUndecodable(t *testing.T) {
	noise := make([]byte, 200<<10)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	ts := scene{}.make(t)
	for name, segment := range map[string][]byte{
		"nothing":                      {},
		"one byte":                     {0x47},
		"zeros":                        make([]byte, 200<<10),
		"random bytes":                 noise,
		"an HTML page":                 []byte("<!DOCTYPE html><html><body>Sorry, an error occurred.</body></html>"),
		"a playlist":                   []byte("#EXTM3U\n#EXTINF:4,\nfile:///etc/passwd\n"),
		"MPEG-TS packets of zeros":     bytes.Repeat(append([]byte{0x47}, make([]byte, 187)...), 1000),
		"null packets":                 bytes.Repeat(append([]byte{0x47, 0x1f, 0xff, 0x10}, make([]byte, 184)...), 1000),
		"tables that announce nothing": withoutTrack(withoutTrack(ts, pidVideo), pidAudio),
		"both tracks of random bytes":  corruptTrack(corruptTrack(ts, pidVideo), pidAudio),
		"an MP4 box of absurd length":  append([]byte{0xff, 0xff, 0xff, 0xff, 'm', 'o', 'o', 'v'}, noise...),
		"a truncated init section":     []byte("\x00\x00\x00\x18ftypiso5\x00\x00\x02\x00iso5"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, declared := range []string{"", "mpegts", "mp4"} {
				_, err := ffmpeg.New(realTool(t)).Analyse(t.Context(), watch.Segment{Container: declared}, watch.Calm{}, bytes.NewReader(segment), settings)
				checkFailure(t, err, watch.FailureUndecodable)
				checkNoSubprocess(t)
			}
		})
	}
}

func TestAnErrorOfTheBodyIsReturnedUnchanged(t *testing.T) {
	ts := scene{}.make(t)
	broken := watch.NewFailure(watch.FailureTruncated, "the server announced more")
	for name, n := range map[string]int{"at once": 0, "halfway": len(ts) / 2, "after everything": len(ts)} {
		t.Run(name, func(t *testing.T) {
			body := io.MultiReader(bytes.NewReader(ts[:n]), iotest.ErrReader(broken))
			_, err := ffmpeg.New(realTool(t)).Analyse(t.Context(), watch.Segment{}, watch.Calm{}, body, settings)
			if f := (*watch.Failure)(nil); !errors.As(err, &f) || f != broken {
				t.Errorf("error = %v, want the body's own", err)
			}
			checkNoSubprocess(t)
		})
	}
}

func analyseFails(t *testing.T, a *ffmpeg.Analyser, body io.Reader, kind watch.FailureKind) *watch.Failure {
	t.Helper()
	_, err := a.Analyse(t.Context(), watch.Segment{}, watch.Calm{}, body, settings)
	checkNoSubprocess(t)
	return checkFailure(t, err, kind)
}

func checkFailure(t *testing.T, err error, kind watch.FailureKind) *watch.Failure {
	t.Helper()
	var f *watch.Failure
	if !errors.As(err, &f) || f.Kind != kind {
		t.Fatalf("error = %v, want a failure of kind %s", err, kind)
	}
	if f.Detail == "" || strings.ContainsAny(f.Detail, "\n\r\x00") {
		t.Errorf("detail = %q, want one line", f.Detail)
	}
	return f
}
