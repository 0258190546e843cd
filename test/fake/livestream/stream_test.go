package livestream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// cache is shared by the tests of one run.
var cache string

func TestMain(m *testing.M) {
	var err error
	if cache, err = os.MkdirTemp("", "livestream-test-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(cache)
		os.Exit(code)
	}))
}

// clock is a clock that moves only by forward.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) forward(d time.Duration) { c.now = c.now.Add(d) }

func start(t *testing.T, c livestream.Config) (*livestream.Stream, *clock) {
	t.Helper()
	library, err := livestream.Open(livestream.Options{CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	clock := &clock{time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)}
	c.Now = clock.Now
	stream, err := library.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return stream, clock
}

// The test decodes a scripted stream with ffmpeg. Each detected change is within one
// frame of the script.
func TestFFmpegDetectsEachScriptedChangeWithinAFrame(t *testing.T) {
	const frame = 0.034 // seconds, rounded up
	for _, segment := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second} {
		t.Run(fmt.Sprintf("segments of %v", segment), func(t *testing.T) {
			stream, clock := start(t, livestream.Config{
				Segment: segment, Window: 40 * time.Second,
				Script: []livestream.Cue{
					{At: 4700 * time.Millisecond, Do: livestream.Black},
					{At: 9310 * time.Millisecond, Do: livestream.Picture},
					{At: 11500 * time.Millisecond, Do: livestream.Silence},
					{At: 14250 * time.Millisecond, Do: livestream.Sound},
					{At: 16200 * time.Millisecond, Do: livestream.Black},
					{At: 16800 * time.Millisecond, Do: livestream.Picture},
				},
			})
			clock.forward(20 * time.Second)
			for _, r := range stream.Renditions() {
				found := detect(t, joinSegments(t, stream, r.Itag))
				checkIntervals(t, "black", found.black, [][2]float64{{4.7, 9.31}, {16.2, 16.8}}, frame)
				checkIntervals(t, "silence", found.silence, [][2]float64{{11.5, 14.25}}, frame)
				if math.Abs(found.length-20) > frame {
					t.Errorf("ffmpeg decoded %.3f s of 20 s", found.length)
				}
				if found.errors != "" {
					t.Errorf("ffmpeg printed: %s", found.errors)
				}
			}
		})
	}
}

func TestAnEditTakesEffectAtTheReturnedTime(t *testing.T) {
	stream, clock := start(t, livestream.Config{Preroll: 40 * time.Second})
	clock.forward(1234 * time.Millisecond)
	black := stream.Black(true)
	clock.forward(4 * time.Second)
	picture := stream.Black(false)
	clock.forward(time.Second)
	silence := stream.Silence(true)
	clock.forward(3 * time.Second)
	sound := stream.Silence(false)
	clock.forward(4 * time.Second)

	playlist, err := stream.Playlist(91)
	if err != nil {
		t.Fatal(err)
	}
	origin := playlist.Entries[0].ProgramTime
	since := func(at time.Time) float64 { return at.Sub(origin).Seconds() }
	found := detect(t, joinSegments(t, stream, 91))
	checkIntervals(t, "black", found.black, [][2]float64{{since(black), since(picture)}}, 0.034)
	checkIntervals(t, "silence", found.silence, [][2]float64{{since(silence), since(sound)}}, 0.034)
}

func TestAPlaylistFollowsTheClockAndTheEdits(t *testing.T) {
	entries := func(t *testing.T, s *livestream.Stream) []livestream.Entry {
		t.Helper()
		p, err := s.Playlist(91)
		if err != nil {
			t.Fatal(err)
		}
		return p.Entries
	}

	t.Run("a segment is listed when its last frame is past", func(t *testing.T) {
		stream, clock := start(t, livestream.Config{Latency: 500 * time.Millisecond})
		first := stream.Began()
		clock.forward(2499 * time.Millisecond)
		if got := entries(t, stream); len(got) != 0 {
			t.Fatalf("listed before its last frame: %v", got)
		}
		if _, err := stream.Segment(t.Context(), 91, 0); !errors.Is(err, livestream.ErrNotFound) {
			t.Fatalf("fetched before its last frame: %v", err)
		}
		clock.forward(time.Millisecond)
		if got := entries(t, stream); len(got) != 1 || !got[0].ProgramTime.Equal(first) {
			t.Fatalf("listed %v, want the first segment", got)
		}
		if got := stream.Available(first.Add(1999 * time.Millisecond)); !got.Equal(clock.Now()) {
			t.Fatalf("Available = %v, listed at %v", got, clock.Now())
		}
	})
	t.Run("the playlist has the length of the window", func(t *testing.T) {
		stream, clock := start(t, livestream.Config{Preroll: time.Hour, Window: 30 * time.Second})
		got := entries(t, stream)
		if len(got) != 15 || got[0].Sequence != 1785 || stream.Sequence(clock.Now()) != 1800 {
			t.Fatalf("%d entries from %d", len(got), got[0].Sequence)
		}
	})
	t.Run("a frozen playlist stands still and then jumps to the live edge", func(t *testing.T) {
		stream, clock := start(t, livestream.Config{Preroll: time.Minute})
		stream.Freeze(true)
		clock.forward(30 * time.Second)
		if got := entries(t, stream); got[len(got)-1].Sequence != 29 {
			t.Fatalf("frozen, but the last segment is %d, want 29", got[len(got)-1].Sequence)
		}
		stream.Freeze(false)
		if got := entries(t, stream); got[len(got)-1].Sequence != 44 {
			t.Fatalf("the last segment is %d after the thaw, want 44", got[len(got)-1].Sequence)
		}
	})
	t.Run("End writes EXT-X-ENDLIST after the last complete segment, Stop does not", func(t *testing.T) {
		for _, ended := range []bool{true, false} {
			stream, clock := start(t, livestream.Config{Preroll: 10 * time.Second})
			clock.forward(1500 * time.Millisecond)
			finish := stream.Stop
			if ended {
				finish = stream.End
			}
			if got := finish(); !got.Equal(stream.Began().Add(10 * time.Second)) {
				t.Fatalf("the media end at %v", got)
			}
			clock.forward(time.Minute)
			p, err := stream.Playlist(91)
			if err != nil || len(p.Entries) != 5 || p.Ended != ended {
				t.Fatalf("playlist %+v, %v; want 5 segments, ended: %v", p, err, ended)
			}
			if got := strings.Contains(text(p), "#EXT-X-ENDLIST"); got != ended {
				t.Fatalf("the text has EXT-X-ENDLIST: %v", got)
			}
		}
	})
	t.Run("a discontinuity is announced and the timestamps jump", func(t *testing.T) {
		stream, clock := start(t, livestream.Config{Preroll: 8 * time.Second})
		clock.forward(500 * time.Millisecond)
		if got := stream.Discontinuity(); !got.Equal(stream.Began().Add(10 * time.Second)) {
			t.Fatalf("the discontinuity takes effect at %v, want the next segment", got)
		}
		clock.forward(4 * time.Second)
		got := entries(t, stream)
		for i, e := range got {
			if e.Discontinuity != (i == 5) {
				t.Errorf("entry %d: discontinuity %v", i, e.Discontinuity)
			}
		}
		if before, after := firstTimestamp(t, stream, 4), firstTimestamp(t, stream, 5); after-before < 3600 {
			t.Errorf("timestamps go from %v to %v", before, after)
		}
		clock.forward(28 * time.Second)
		if p, _ := stream.Playlist(91); p.DiscontinuityNumber != 1 {
			t.Errorf("discontinuity sequence %d after the discontinuity left the window, want 1", p.DiscontinuityNumber)
		}
	})
	t.Run("program time can be left out", func(t *testing.T) {
		stream, _ := start(t, livestream.Config{Preroll: time.Minute, NoProgramTime: true})
		p, _ := stream.Playlist(91)
		if strings.Contains(text(p), "PROGRAM-DATE-TIME") {
			t.Fatal(text(p))
		}
	})
}

func TestARenditionHasOnlyItsOwnTracks(t *testing.T) {
	stream, _ := start(t, livestream.Config{Preroll: 8 * time.Second, Renditions: []livestream.Rendition{livestream.Video144p, livestream.AudioOnly}})
	for itag, want := range map[int]string{269: "video", 234: "audio"} {
		b, err := stream.Segment(t.Context(), itag, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := probe(t, b, "stream=codec_type"); strings.Fields(got)[0] != want || strings.Contains(got, map[string]string{"video": "audio", "audio": "video"}[want]) {
			t.Errorf("itag %d has %q", itag, got)
		}
	}
}

func TestAnInvalidConfigIsRefused(t *testing.T) {
	library, err := livestream.Open(livestream.Options{CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]livestream.Config{
		"a segment of half a second":      {Segment: 500 * time.Millisecond},
		"a window shorter than a segment": {Window: time.Second},
		"an odd width":                    {Renditions: []livestream.Rendition{{Itag: 1, Width: 255, Height: 144}}},
		"unknown action":                  {Script: []livestream.Cue{{Do: "unknown"}}},
		"a failure without a part":        {Script: []livestream.Cue{{Do: livestream.Fail}}},
	} {
		if _, err := library.Start(t.Context(), c); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	t.Run("a failure of the encoder is returned and not cached", func(t *testing.T) {
		withoutEncoder, err := livestream.Open(livestream.Options{CacheDir: t.TempDir(), FFmpeg: "false"})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := withoutEncoder.Start(t.Context(), livestream.Config{}); err == nil {
				t.Fatal("started without an encoder")
			}
		}
	})
	t.Run("a cancelled caller does not wait", func(t *testing.T) {
		library, err := livestream.Open(livestream.Options{CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := library.Start(ctx, livestream.Config{}); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	})
}

func text(p livestream.Playlist) string {
	return p.Text(func(e livestream.Entry) string { return strconv.FormatUint(e.Sequence, 10) })
}

// joinSegments returns the bytes of all listed segments of a rendition.
func joinSegments(t *testing.T, s *livestream.Stream, itag int) []byte {
	t.Helper()
	p, err := s.Playlist(itag)
	if err != nil {
		t.Fatal(err)
	}
	var joined []byte
	for _, e := range p.Entries {
		b, err := s.Segment(t.Context(), itag, e.Sequence)
		if err != nil {
			t.Fatal(err)
		}
		joined = append(joined, b...)
	}
	return joined
}

// detections are the results of ffmpeg, in seconds since the first timestamp.
type detections struct {
	black, silence [][2]float64
	length         float64
	errors         string
}

var (
	blackInterval   = regexp.MustCompile(`black_start:([\d.]+) black_end:([\d.]+)`)
	silenceInterval = regexp.MustCompile(`silence_start: ([\d.-]+)\n(?:.*\n)*?.*silence_end: ([\d.]+)`)
	progressTime    = regexp.MustCompile(`time=(\d+):(\d+):([\d.]+)`)
	errorLine       = regexp.MustCompile(`(?im)^.*(error|corrupt|invalid|non-monoton|continuity|concealing).*$`)
)

// detect runs ffmpeg's detectors over MPEG-TS.
func detect(t *testing.T, b []byte) detections {
	t.Helper()
	out := tool(t, "ffmpeg", b, "-hide_banner", "-f", "mpegts", "-i", "pipe:0",
		"-vf", "blackdetect=d=0.1:pix_th=0.10", "-af", "silencedetect=n=-50dB:d=0.5", "-f", "null", "-")
	d := detections{black: intervals(t, blackInterval, out), silence: intervals(t, silenceInterval, out), errors: strings.Join(errorLine.FindAllString(out, -1), "\n")}
	if all := progressTime.FindAllStringSubmatch(out, -1); len(all) > 0 {
		last := all[len(all)-1]
		d.length = number(t, last[1])*3600 + number(t, last[2])*60 + number(t, last[3])
	}
	return d
}

// checkIntervals compares intervals with those of the script, in seconds.
func checkIntervals(t *testing.T, name string, got, want [][2]float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: ffmpeg detected %v, the script has %v", name, got, want)
	}
	for i := range got {
		for j := range got[i] {
			if math.Abs(got[i][j]-want[i][j]) > tolerance {
				t.Errorf("%s: ffmpeg detected %v, the script has %v", name, got[i], want[i])
			}
		}
	}
}

func firstTimestamp(t *testing.T, s *livestream.Stream, n uint64) float64 {
	t.Helper()
	b, err := s.Segment(t.Context(), 91, n)
	if err != nil {
		t.Fatal(err)
	}
	return number(t, strings.TrimSpace(probe(t, b, "format=start_time")))
}

func probe(t *testing.T, b []byte, entries string) string {
	t.Helper()
	return tool(t, "ffprobe", b, "-v", "error", "-show_entries", entries, "-of", "default=nw=1:nk=1", "pipe:0")
}

// tool runs ffmpeg or ffprobe.
func tool(t *testing.T, name string, input []byte, args ...string) string {
	t.Helper()
	if path := os.Getenv("FFMPEG_PATH"); path != "" {
		name = filepath.Join(filepath.Dir(path), name)
	}
	if _, err := exec.LookPath(name); err != nil {
		t.Fatalf("%s is not installed: run make tools", name)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// intervals returns the intervals that re matches, in seconds.
func intervals(t *testing.T, re *regexp.Regexp, s string) [][2]float64 {
	t.Helper()
	var found [][2]float64
	for _, m := range re.FindAllStringSubmatch(s, -1) {
		found = append(found, [2]float64{number(t, m[1]), number(t, m[2])})
	}
	return found
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
