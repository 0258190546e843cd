package ffmpeg_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestTroubleWithTheToolIsToldFromTroubleWithTheSegment(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		detail string
	}{
		"killed from outside":         {"kill -9 $$", "killed"},
		"crashes":                     {"kill -SEGV $$", "crashed (segmentation fault)"},
		"gives up":                    {"kill -ABRT $$", "crashed (aborted)"},
		"writes to a file":            {"echo x > " + filepath.Join(t.TempDir(), "file"), "crashed (file size limit exceeded)"},
		"gets no memory":              {"echo '[h264 @ 0x5581] get_buffer() failed' >&2", "256 MiB of memory"},
		"gets no memory and crashes":  {"echo 'Cannot allocate memory' >&2; kill -SEGV $$", "256 MiB of memory"},
		"obeys its limit of CPU time": {fmt.Sprintf("echo 'Exiting normally, received signal %d.' >&2; exit 255", int(syscall.SIGXCPU)), "15s of CPU time"},
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
			path := script(t, "ln -s $$ "+pids+"\n"+c.script)
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
	path := script(t, "ln -s $$ "+pids+"\ncat >/dev/null; sleep 600 & wait")
	done := make(chan error)
	go func() {
		_, err := ffmpeg.New(ffmpeg.Config{Path: path}).Analyse(ctx, watch.Segment{}, bytes.NewReader(scene{}.make(t)), settings)
		done <- err
	}()
	eventually(t, "the tool runs", func() bool { _, err := os.Readlink(pids); return err == nil })
	cancel(stopped)
	began := time.Now()
	if err := <-done; !errors.Is(err, stopped) {
		t.Errorf("error = %v, want %v", err, stopped)
	}
	atOnce(t, began)
	groupIsGone(t, pids)
	noChildren(t)
}

func TestAnFFmpegThatObeysASignalFromOutsideDidNotSeeTheWholeSegment(t *testing.T) {
	ts := scene{seconds: 20}.make(t)
	half := len(ts) / 2
	if half < 128<<10 {
		t.Fatalf("%d bytes fit into the pipe: ffmpeg may get the signal before it can obey", half)
	}
	pids := filepath.Join(t.TempDir(), "pid")
	path := script(t, "ln -s $$ "+pids+"\nexec "+tool(t)+` "$@"`)
	stop := readerFunc(func([]byte) (int, error) {
		id, err := os.Readlink(pids)
		if err != nil {
			return 0, err
		}
		pid, err := strconv.Atoi(id)
		return 0, cmp.Or(err, syscall.Kill(pid, syscall.SIGTERM), io.EOF)
	})
	body := io.MultiReader(bytes.NewReader(ts[:half]), stop, bytes.NewReader(ts[half:]))
	f := failed(t, ffmpeg.New(ffmpeg.Config{Path: path}), body, watch.FailureTool)
	if !strings.Contains(f.Detail, "asked from outside") {
		t.Errorf("detail = %q", f.Detail)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestABodyThatStallsWhenTheAnalysisIsCancelledIsNoFaultOfTheNetwork(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the monitor was stopped")
	ts := scene{}.make(t)
	r, w := io.Pipe()
	go func() { // ends with the body, which Analyse closes
		_, _ = w.Write(ts)
		cancel(stopped)
	}()
	began := time.Now()
	_, err := ffmpeg.New(ffmpeg.Config{Path: tool(t)}).Analyse(ctx, watch.Segment{}, r, settings)
	if !errors.Is(err, stopped) {
		t.Errorf("error = %v, want %v", err, stopped)
	}
	atOnce(t, began)
	noChildren(t)
}

func TestTheToolGetsNoSecretsAndNoAddress(t *testing.T) {
	t.Setenv("WEBHOOK_SIGNING_KEY", "a-secret")
	path := script(t, `env; for a; do echo "$a"; done; cat >/dev/null`)
	s := watch.Segment{URI: "https://media.example/signed"}
	res, err := ffmpeg.Run(t.Context(), ffmpeg.New(ffmpeg.Config{Path: path}), s, bytes.NewReader(scene{}.make(t)), settings)
	if err != nil {
		t.Fatal(err)
	}
	b := res.Stdout
	for _, forbidden := range []string{"a-secret", "http", "signed"} {
		if strings.Contains(string(b), forbidden) {
			t.Errorf("the tool was given %q", forbidden)
		}
	}
	for _, needed := range []string{"-max_error_rate\n1\n", "-filter_threads\n1\n-threads\n1\n-max_pixels\n10066329\n-protocol_whitelist\npipe\n-f\nmpegts\n-i\npipe:0\n", "LC_ALL=C\n", "\nPATH="} {
		if n := strings.Count(string(b), needed); n != 1 {
			t.Errorf("the tool was given %q %d times, want one process that is given it once", needed, n)
		}
	}
}

// atOnce fails the test when it was not the cancelling that ended an analysis,
// but its time limit.
func atOnce(t *testing.T, began time.Time) {
	t.Helper()
	if took := time.Since(began); took > ffmpeg.DefaultTimeout/2 {
		t.Errorf("it took %v to end", took)
	}
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
