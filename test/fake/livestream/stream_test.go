package livestream_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The test decodes a scripted stream with ffmpeg. Each detected change is within one frame of the
// script. The suites that watch a stream test the rest of what it does.
func TestFFmpegDetectsEachScriptedChangeWithinAFrame(t *testing.T) {
	library := open(t, livestream.Options{CacheDir: t.TempDir()})
	for _, segment := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second} {
		t.Run(fmt.Sprintf("segments of %v", segment), func(t *testing.T) {
			stream, err := library.Start(t.Context(), livestream.Config{
				Preroll: 20 * time.Second, Segment: segment, Window: 40 * time.Second,
				Script: []livestream.Cue{
					{At: 4700 * time.Millisecond, Do: livestream.Black},
					{At: 9310 * time.Millisecond, Do: livestream.Picture},
					{At: 11500 * time.Millisecond, Do: livestream.Silence},
					{At: 14250 * time.Millisecond, Do: livestream.Sound},
					{At: 16200 * time.Millisecond, Do: livestream.Black},
					{At: 16800 * time.Millisecond, Do: livestream.Picture},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range stream.Renditions() {
				out := detect(t, stream, r.Itag)
				checkTimes(t, out, `black_start:([\d.]+)`, 4.7, 16.2)
				checkTimes(t, out, `black_end:([\d.]+)`, 9.333, 16.8)
				checkTimes(t, out, `silence_start: ([\d.-]+)`, 11.5)
				checkTimes(t, out, `silence_end: ([\d.]+)`, 14.25)
				if wrong := regexp.MustCompile(`(?im)^.*(error|corrupt|invalid|non-monoton|continuity|concealing).*$`).FindString(out); wrong != "" {
					t.Errorf("ffmpeg printed: %s", wrong)
				}
			}
		})
	}
}

// detect returns what ffmpeg's detectors print about all listed segments of a rendition.
func detect(t *testing.T, s *livestream.Stream, itag int) string {
	t.Helper()
	playlist, err := s.Playlist(itag)
	if err != nil {
		t.Fatal(err)
	}
	var media bytes.Buffer
	for _, e := range playlist.Entries {
		segment, err := s.Segment(t.Context(), itag, e.Sequence)
		if err != nil {
			t.Fatal(err)
		}
		media.Write(segment)
	}
	ffmpeg, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), ffmpeg, strings.Fields("-hide_banner -f mpegts -i pipe:0 -vf blackdetect=d=0.1:pix_th=0.10 -af silencedetect=n=-50dB:d=0.5 -f null -")...)
	cmd.Stdin = &media
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// checkTimes compares the times that ffmpeg prints with those of the script, in seconds.
func checkTimes(t *testing.T, out, pattern string, want ...float64) {
	t.Helper()
	const frame = 0.034 // rounded up
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(out, -1)
	if len(found) != len(want) {
		t.Fatalf("%s: ffmpeg detected %v, the script has %v", pattern, found, want)
	}
	for n, match := range found {
		if at, err := strconv.ParseFloat(match[1], 64); err != nil || math.Abs(at-want[n]) > frame {
			t.Errorf("%s: ffmpeg detected %s, the script has %v", pattern, match[1], want[n])
		}
	}
}

// A packaging without what its name says would be watched alike, and nobody would notice.
func TestAPackagingIsWhatItsNameSays(t *testing.T) {
	library := open(t, livestream.Options{})
	for _, p := range livestream.Packagings() {
		t.Run(p.Name, func(t *testing.T) {
			p.Preroll += 55 * time.Second
			stream, err := library.Start(t.Context(), p.Config)
			if err != nil {
				t.Fatal(err)
			}
			manifest := get(t, stream, stream.Entry())
			if first := regexp.MustCompile(`(?m)^itag/.*m3u8$`).FindString(manifest); first != "" {
				manifest = get(t, stream, first)
			}
			for tag, want := range tagsOf(p) {
				if got := strings.Contains(manifest, tag); got != want {
					t.Errorf("it has %q: %t, want %t:\n%s", tag, got, want, manifest)
				}
			}
			if n := strings.Count(manifest, "#EXTINF"); p.Window >= time.Hour && n < 3600 {
				t.Errorf("%d segments of 1 s are listed, want those of an hour", n)
			}
		})
	}
}

// tagsOf returns what the manifest of a packaging must have, and what not.
func tagsOf(c livestream.Packaged) map[string]bool {
	p := c.Packaging
	hls := p.DASH == livestream.HLS
	return map[string]bool{
		"<MPD":                      !hls,
		"$Time$":                    p.DASH == livestream.TimelineTime,
		"<SegmentTimeline>":         p.DASH == livestream.TimelineTime || p.DASH == livestream.Timeline,
		"#EXTINF":                   hls,
		"#EXT-X-MAP":                hls && p.Container == livestream.FMP4,
		"#EXT-X-BYTERANGE":          p.SingleFile,
		"#EXT-X-KEY:METHOD=AES-128": p.Keys != livestream.Clear,
		"key-5.bin":                 p.Keys == livestream.Rotating,
		"#EXT-X-PROGRAM-DATE-TIME":  hls && p.ProgramTime != livestream.NoDateTime,
		"#EXT-X-GAP":                p.Gaps != nil,
		"#EXT-X-DISCONTINUITY\n":    p.Reconnect > 0 && !p.NoDiscontinuity,
	}
}

func open(t *testing.T, o livestream.Options) *livestream.Library {
	t.Helper()
	library, err := livestream.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return library
}

// get returns a file that the handler of a stream serves.
func get(t *testing.T, s *livestream.Stream, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+path, nil))
	body, err := io.ReadAll(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, w.Code, err)
	}
	return string(body)
}
