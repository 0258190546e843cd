package ffmpeg_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestFailuresOfTheProcessAreToolFailures(t *testing.T) {
	const unfinished = "did not finish within"
	for name, c := range map[string]struct {
		script string
		detail string
	}{
		"killed from outside":         {"kill -9 $$", "killed"},
		"crashes":                     {"kill -SEGV $$", "crashed (segmentation fault)"},
		"aborts":                      {"kill -ABRT $$", "crashed (aborted)"},
		"writes to a file":            {"echo x > " + filepath.Join(t.TempDir(), "file"), "crashed (file size limit exceeded)"},
		"has no memory":               {"echo '[h264 @ 0x5581] get_buffer() failed' >&2", "256 MiB of memory"},
		"has no memory and crashes":   {"echo 'Cannot allocate memory' >&2; kill -SEGV $$", "256 MiB of memory"},
		"exits at SIGXCPU":            {fmt.Sprintf("echo 'Exiting normally, received signal %d.' >&2; exit 255", int(syscall.SIGXCPU)), "15s of CPU time"},
		"refuses a size":              {"echo '[libdav1d @ 0x5581] Frame size 16384x16384 exceeds limit 10066329' >&2; exit 1", "more than the 10066329 pixels"},
		"exits at SIGTERM":            {fmt.Sprintf("echo 'Exiting normally, received signal %d.' >&2; exit 255", int(syscall.SIGTERM)), "asked from outside"},
		"hangs without reading":       {"sleep 600 & wait", unfinished},
		"hangs after reading":         {"cat >/dev/null; sleep 600 & wait", unfinished},
		"ignores the request to stop": {"trap '' TERM; cat >/dev/null; while :; do sleep 1; done", unfinished},
		"too old":                     {"echo \"Unrecognized option 'max_error_rate'.\" >&2; exit 1", "5.1 or newer"},
		"without the filters":         {"echo \"[AVFilterGraph @ 0x5581] No such filter: 'blackdetect'\" >&2; exit 1", "usual filters"},
		"without a library":           {"echo 'ffmpeg: error while loading shared libraries: libx.so.9' >&2; exit 127", "libx.so.9"},
		"without the decoder":         {"echo 'Decoder (codec av1) not found for input stream #0:0' >&2; exit 1", "codec av1"},
	} {
		t.Run(name, func(t *testing.T) {
			pids := filepath.Join(t.TempDir(), "pid")
			path := fakeFFmpeg(t, "ln -s $$ "+pids+"\n"+c.script)
			config := ffmpeg.Config{Path: path}
			if c.detail == unfinished {
				config.Timeout = 300 * time.Millisecond
			}
			f := analyseFails(t, ffmpeg.New(config), bytes.NewReader(scene{}.make(t)), watch.FailureTool)
			for c.detail == unfinished && !isLink(pids) && config.Timeout < time.Minute { // on a slow machine the limit ended the tool before it began
				config.Timeout *= 2
				f = analyseFails(t, ffmpeg.New(config), bytes.NewReader(scene{}.make(t)), watch.FailureTool)
			}
			if !strings.Contains(f.Detail, c.detail) {
				t.Errorf("detail = %q, want %q in it", f.Detail, c.detail)
			}
			checkProcessGroupEnded(t, pids)
		})
	}
	t.Run("not installed", func(t *testing.T) {
		a := ffmpeg.New(ffmpeg.Config{Path: filepath.Join(t.TempDir(), "ffmpeg")})
		f := analyseFails(t, a, bytes.NewReader(scene{}.make(t)), watch.FailureTool)
		if !strings.Contains(f.Detail, "FFMPEG_PATH") {
			t.Errorf("detail = %q, want what to do", f.Detail)
		}
	})
}

func TestABodyThatStallsIsANetworkFailure(t *testing.T) {
	ts := scene{}.make(t)
	const fitsPipe = 32 << 10 // the body is read on, even if ffmpeg has not begun to read
	for name, n := range map[string]int{"before the first byte": 0, "halfway": min(len(ts)/2, fitsPipe)} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			go func() { _, _ = w.Write(ts[:n]) }() // ends with the body, which Analyse closes
			a := ffmpeg.New(ffmpeg.Config{Path: ffmpegPath(t), Timeout: time.Second})
			analyseFails(t, a, r, watch.FailureNetwork)
		})
	}
}

func TestACancelledAnalysisReturnsTheCause(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pid")
	hanging := ffmpeg.Config{Path: fakeFFmpeg(t, "ln -s $$ "+pids+"\ncat >/dev/null; sleep 600 & wait")}
	stopped := errors.New("the monitor was stopped")
	for name, c := range map[string]struct {
		config ffmpeg.Config
		stalls bool // the body, once it was read
	}{"while ffmpeg hangs": {hanging, false}, "while the body stalls": {realTool(t), true}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			r, w := io.Pipe()
			done := make(chan error)
			go func() {
				_, err := ffmpeg.New(c.config).Analyse(ctx, watch.Segment{}, watch.Look{}, r, settings)
				done <- err
			}()
			_, _ = w.Write(scene{}.make(t))
			if !c.stalls {
				_ = w.Close()
				eventually(t, "ffmpeg runs", func() bool { return isLink(pids) })
			}
			cancel(stopped)
			began := time.Now()
			if err := <-done; !errors.Is(err, stopped) || time.Since(began) > ffmpeg.DefaultTimeout/2 {
				t.Errorf("error = %v after %v, want %v", err, time.Since(began), stopped)
			}
			if !c.stalls {
				checkProcessGroupEnded(t, pids)
			}
			checkNoSubprocess(t)
		})
	}
}

func TestFFmpegGetsNoSecretsAndNoURL(t *testing.T) {
	t.Setenv("WEBHOOK_SIGNING_KEY", "a-secret")
	got := run(t, ffmpeg.Config{Path: fakeFFmpeg(t, `env; for a; do echo "$a"; done; cat >/dev/null`)})
	for _, forbidden := range []string{"a-secret", "http", "signed"} {
		if strings.Contains(got, forbidden) {
			t.Errorf("ffmpeg was given %q", forbidden)
		}
	}
	for _, needed := range []string{"LC_ALL=C\n", "\nPATH="} {
		if strings.Count(got, needed) != 1 {
			t.Errorf("ffmpeg was not given %q", needed)
		}
	}
}

// Tests of the package that starts tools show how little a confined one reaches.
func TestFFmpegIsConfined(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(keys, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := ffmpeg.Config{Path: fakeFFmpeg(t, "cat "+keys+"; python3 -c 'import socket; socket.socket(); print(\"network\")'; echo end; cat >/dev/null")}
	for name, want := range map[string]string{"confined": "end\n", "not confined": "secretnetwork\nend\n"} {
		if c.Files = nil; name == "confined" {
			c.Files = []string{}
		}
		if got := run(t, c); got != want {
			t.Errorf("%s it prints %q, want %q", name, got, want)
		}
	}
}

func isLink(path string) bool {
	_, err := os.Readlink(path)
	return err == nil
}

// fakeFFmpeg writes a shell script that stands in for ffmpeg.
func fakeFFmpeg(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkNoSubprocess fails the test if a subprocess is left.
func checkNoSubprocess(t *testing.T) {
	t.Helper()
	switch _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
	case errors.Is(err, syscall.ECHILD):
	case err == nil:
		t.Error("a subprocess is still there")
	default:
		t.Fatal(err)
	}
}

// checkProcessGroupEnded waits for the end of a process group. Its leader has made link,
// a symbolic link to its id, because it may not write files.
func checkProcessGroupEnded(t *testing.T, link string) {
	t.Helper()
	leader, err := os.Readlink(link)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process group has ended", func() bool {
		all, err := exec.Command("ps", "-A", "-o", "pgid=,stat=").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(all)) {
			// A zombie has ended; init has not waited for it yet.
			if f := strings.Fields(line); len(f) == 2 && f[0] == leader && f[1][0] != 'Z' {
				return false
			}
		}
		return true
	})
}

func eventually(t *testing.T, condition string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", condition)
		}
	}
}
