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
				wantFailureOfDeclared(t, segment, declared, watch.FailureUndecodable)
			}
		})
	}
}

func TestTheBytesOutweighTheDeclaredContainer(t *testing.T) {
	ts := scene{}.make(t)
	a := ffmpeg.New(realTool(t))
	for name, c := range map[string]struct {
		segment  []byte
		declared string
	}{
		"MPEG-TS declared as MP4":              {ts, "mp4"},
		"MPEG-TS after some garbage":           {append([]byte("garbage"), ts...), ""},
		"MPEG-TS after much garbage, declared": {append(bytes.Repeat([]byte{0}, 1000), ts...), "mpegts"},
		"MP4 declared as MPEG-TS":              {scene{mux: []string{"-movflags", "empty_moov+frag_keyframe", "-f", "mp4"}}.make(t), "mpegts"},
		"MPEG-TS declared as Matroska":         {ts, "matroska"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := a.Analyse(t.Context(), watch.Segment{Container: c.declared}, watch.Calm{}, bytes.NewReader(c.segment), settings)
			if err != nil || !got.Video.Present || !got.Audio.Present {
				t.Errorf("Analyse = %+v, %v", got, err)
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

func wantFailure(t *testing.T, segment []byte, kind watch.FailureKind) {
	t.Helper()
	wantFailureOfDeclared(t, segment, "", kind)
}

func wantFailureOfDeclared(t *testing.T, segment []byte, declared string, kind watch.FailureKind) {
	t.Helper()
	a := ffmpeg.New(realTool(t))
	_, err := a.Analyse(t.Context(), watch.Segment{Container: declared}, watch.Calm{}, bytes.NewReader(segment), settings)
	checkFailure(t, err, kind)
	checkNoSubprocess(t)
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
