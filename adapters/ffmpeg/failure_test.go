package ffmpeg_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestBytesThatAreNoSegmentAreUndecodable(t *testing.T) {
	noise := make([]byte, 200<<10)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	ts := scene{}.make(t)
	for name, segment := range map[string][]byte{
		"nothing":                       {},
		"one byte":                      {0x47},
		"zeros":                         make([]byte, 200<<10),
		"random bytes":                  noise,
		"a page":                        []byte("<!DOCTYPE html><html><body>Sorry, an error occurred.</body></html>"),
		"a playlist":                    []byte("#EXTM3U\n#EXTINF:4,\nfile:///etc/passwd\n"),
		"MPEG-TS packets of zeros":      bytes.Repeat(append([]byte{0x47}, make([]byte, 187)...), 1000),
		"null packets":                  bytes.Repeat(append([]byte{0x47, 0x1f, 0xff, 0x10}, make([]byte, 184)...), 1000),
		"tables that announce nothing":  without(without(ts, pidVideo), pidAudio),
		"both tracks making no sense":   spoilt(spoilt(ts, pidVideo), pidAudio),
		"an MP4 box of absurd length":   append([]byte{0xff, 0xff, 0xff, 0xff, 'm', 'o', 'o', 'v'}, noise...),
		"an initialisation section cut": []byte("\x00\x00\x00\x18ftypiso5\x00\x00\x02\x00iso5"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, declared := range []string{"", "mpegts", "mp4"} {
				refusedAs(t, segment, declared, watch.FailureUndecodable)
			}
		})
	}
}

func TestTheBytesTellTheContainerWhateverIsDeclared(t *testing.T) {
	ts := scene{}.make(t)
	a := ffmpeg.New(ffmpeg.Config{Path: tool(t)})
	for name, c := range map[string]struct {
		segment  []byte
		declared string
	}{
		"MPEG-TS declared as MP4":              {ts, "mp4"},
		"MPEG-TS after some rubbish":           {append([]byte("rubbish"), ts...), ""},
		"MPEG-TS after rubbish, but declared":  {append(bytes.Repeat([]byte{0}, 1000), ts...), "mpegts"},
		"MP4 declared as MPEG-TS":              {scene{mux: []string{"-movflags", "empty_moov+frag_keyframe", "-f", "mp4"}}.make(t), "mpegts"},
		"a container nobody has ever heard of": {ts, "matroska"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := a.Analyse(t.Context(), watch.Segment{Container: c.declared}, bytes.NewReader(c.segment), threshold)
			if err != nil || !got.Video.Present || !got.Audio.Present {
				t.Errorf("Analyse = %+v, %v", got, err)
			}
		})
	}
}

func TestAnErrorOfTheBodyComesBackUnchanged(t *testing.T) {
	ts := scene{}.make(t)
	broken := watch.Failed(watch.FailureTruncated, "the server announced more")
	for name, n := range map[string]int{"at once": 0, "halfway": len(ts) / 2, "after everything": len(ts)} {
		t.Run(name, func(t *testing.T) {
			body := io.MultiReader(bytes.NewReader(ts[:n]), iotest.ErrReader(broken))
			_, err := ffmpeg.New(ffmpeg.Config{Path: tool(t)}).Analyse(t.Context(), watch.Segment{}, body, threshold)
			if f := (*watch.Failure)(nil); !errors.As(err, &f) || f != broken {
				t.Errorf("error = %v, want the body's own", err)
			}
			noChildren(t)
		})
	}
}

func TestASegmentThatNeverEndsIsGivenUp(t *testing.T) {
	ts := scene{}.make(t)
	null := append([]byte{0x47, 0x1f, 0xff, 0x10}, make([]byte, 184)...)
	for name, c := range map[string]struct {
		body  io.Reader
		limit int64
	}{
		"pictures without end":             {&endless{ts}, 1 << 20},
		"200 MB of filler after a segment": {io.MultiReader(bytes.NewReader(ts), io.LimitReader(&endless{null}, 200<<20)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := ffmpeg.New(ffmpeg.Config{Path: tool(t), MaxInput: c.limit})
			failed(t, a, c.body, watch.FailureTooLarge)
		})
	}
}

// endless repeats something.
type endless struct{ what []byte }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.what)
	e.what = append(e.what[n:len(e.what):len(e.what)], e.what[:n]...)
	return n, nil
}

func TestOutputThatWasCutOffIsNotBelieved(t *testing.T) {
	a := ffmpeg.New(ffmpeg.Config{Path: tool(t), MaxOutput: 4 << 10})
	failed(t, a, bytes.NewReader(scene{}.make(t)), watch.FailureUndecodable)
}

func TestTroubleWithTheToolIsToldFromTroubleWithTheSegment(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		detail string
	}{
		"killed from outside":         {"kill -9 $$", "killed"},
		"hangs without reading":       {"sleep 600 & wait", "did not finish within"},
		"hangs after reading":         {"cat >/dev/null; sleep 600 & wait", "did not finish within"},
		"ignores the request to stop": {"trap '' TERM; cat >/dev/null; while :; do sleep 1; done", "did not finish within"},
		"too old":                     {"echo \"Unrecognized option 'max_error_rate'.\" >&2; exit 1", "5.1 or newer"},
		"without the filters":         {"echo \"[AVFilterGraph @ 0x5581] No such filter: 'blackdetect'\" >&2; exit 1", "usual filters"},
		"without a library":           {"echo 'ffmpeg: error while loading shared libraries: libx.so.9' >&2; exit 127", "libx.so.9"},
		"without the decoder":         {"echo 'Decoder (codec av1) not found for input stream #0:0' >&2; exit 1", "codec av1"},
	} {
		t.Run(name, func(t *testing.T) {
			pids := filepath.Join(t.TempDir(), "pid")
			path := script(t, "echo $$ > "+pids+"\n"+c.script)
			f := failed(t, ffmpeg.New(ffmpeg.Config{Path: path, Timeout: 300 * time.Millisecond}), bytes.NewReader(scene{}.make(t)), watch.FailureTool)
			if !strings.Contains(f.Detail, c.detail) {
				t.Errorf("detail = %q, want %q in it", f.Detail, c.detail)
			}
			groupIsGone(t, pids)
		})
	}
	t.Run("not there", func(t *testing.T) {
		a := ffmpeg.New(ffmpeg.Config{Path: filepath.Join(t.TempDir(), "ffmpeg")})
		f := failed(t, a, bytes.NewReader(scene{}.make(t)), watch.FailureTool)
		if !strings.Contains(f.Detail, "FFMPEG_PATH") {
			t.Errorf("detail = %q, want what to do", f.Detail)
		}
	})
}

func TestABodyThatStallsIsNoFaultOfTheTool(t *testing.T) {
	ts := scene{}.make(t)
	for name, n := range map[string]int{"before the first byte": 0, "halfway": len(ts) / 2} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			go func() { _, _ = w.Write(ts[:n]) }() // ends with the body, which Analyse closes
			a := ffmpeg.New(ffmpeg.Config{Path: tool(t), Timeout: 500 * time.Millisecond})
			failed(t, a, r, watch.FailureNetwork)
		})
	}
}

func TestACancelledAnalysisSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the monitor was stopped")
	pids := filepath.Join(t.TempDir(), "pid")
	path := script(t, "echo $$ > "+pids+"\ncat >/dev/null; sleep 600 & wait")
	done := make(chan error)
	go func() {
		_, err := ffmpeg.New(ffmpeg.Config{Path: path}).Analyse(ctx, watch.Segment{}, bytes.NewReader(scene{}.make(t)), threshold)
		done <- err
	}()
	eventually(t, "the tool runs", func() bool { b, _ := os.ReadFile(pids); return len(b) > 1 })
	cancel(stopped)
	if err := <-done; !errors.Is(err, stopped) {
		t.Errorf("error = %v, want %v", err, stopped)
	}
	groupIsGone(t, pids)
	noChildren(t)
}

func TestTheToolGetsNoSecretsAndNoAddress(t *testing.T) {
	t.Setenv("WEBHOOK_SIGNING_KEY", "a-secret")
	said := filepath.Join(t.TempDir(), "said")
	path := script(t, `{ env; for a; do echo "$a"; done; } > `+said+"\ncat >/dev/null")
	s := watch.Segment{URI: "https://media.example/signed"}
	_, _ = ffmpeg.New(ffmpeg.Config{Path: path}).Analyse(t.Context(), s, bytes.NewReader(scene{}.make(t)), threshold)
	b, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	for _, forbidden := range []string{"a-secret", "http", "signed"} {
		if strings.Contains(string(b), forbidden) {
			t.Errorf("the tool was given %q", forbidden)
		}
	}
	for _, needed := range []string{"-protocol_whitelist\npipe\n", "-f\nmpegts\n-i\npipe:0\n", "-threads\n1\n"} {
		if !strings.Contains(string(b), needed) {
			t.Errorf("the tool was not given %q", needed)
		}
	}
}

func refused(t *testing.T, segment []byte, kind watch.FailureKind) {
	t.Helper()
	refusedAs(t, segment, "", kind)
}

func refusedAs(t *testing.T, segment []byte, declared string, kind watch.FailureKind) {
	t.Helper()
	a := ffmpeg.New(ffmpeg.Config{Path: tool(t)})
	_, err := a.Analyse(t.Context(), watch.Segment{Container: declared}, bytes.NewReader(segment), threshold)
	checkFailure(t, err, kind)
	noChildren(t)
}

func failed(t *testing.T, a *ffmpeg.Analyser, body io.Reader, kind watch.FailureKind) *watch.Failure {
	t.Helper()
	_, err := a.Analyse(t.Context(), watch.Segment{}, body, threshold)
	noChildren(t)
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

// script makes a stand-in for ffmpeg.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// noChildren fails the test when a process that it started is still there.
func noChildren(t *testing.T) {
	t.Helper()
	switch _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
	case errors.Is(err, syscall.ECHILD):
	case err == nil:
		t.Error("a child process was left behind")
	default:
		t.Fatal(err)
	}
}

// groupIsGone fails the test when a process of the group whose leader wrote its
// id to the file is still there.
func groupIsGone(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	leader := strings.TrimSpace(string(b))
	eventually(t, "the process group is gone", func() bool {
		all, err := exec.Command("ps", "-A", "-o", "pgid=,stat=").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(all)) {
			// A zombie is gone: init has yet to notice.
			if f := strings.Fields(line); len(f) == 2 && f[0] == leader && f[1][0] != 'Z' {
				return false
			}
		}
		return true
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}
