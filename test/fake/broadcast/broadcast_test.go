package broadcast_test

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/broadcast"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tagsOf are what the manifest of a shape must have for the shape to be what its name says.
func tagsOf(s broadcast.Shape) map[string]bool {
	dash := s.MPD != broadcast.HLS
	return map[string]bool{
		"<MPD":                      dash,
		"$Time$":                    s.MPD == broadcast.TimelineTime,
		"<SegmentTimeline>":         s.MPD == broadcast.TimelineTime || s.MPD == broadcast.Timeline,
		"#EXTINF":                   !dash,
		"#EXT-X-MAP":                !dash && s.Container == broadcast.FMP4,
		"#EXT-X-BYTERANGE":          s.SingleFile,
		"#EXT-X-KEY:METHOD=AES-128": s.Keys != broadcast.Clear,
		"key-1.bin":                 s.Keys == broadcast.Rotating,
		"#EXT-X-PROGRAM-DATE-TIME":  !dash && s.ProgramTime != broadcast.NoDateTime,
		"#EXT-X-PART:":              s.Parts,
		"#EXT-X-PRELOAD-HINT":       s.Parts,
		"#EXT-X-RENDITION-REPORT":   s.Parts && s.Demuxed,
		"#EXT-X-SKIP":               s.Delta,
		"#EXT-X-GAP":                len(s.Gaps) > 0,
		"#EXT-X-DISCONTINUITY\n":    s.Reconnect > 0 && !s.NoDiscontinuity,
	}
}

// A shape without what its name says would be watched alike, and nobody would notice.
func TestAShapeIsWhatItsNameSays(t *testing.T) {
	for _, s := range broadcast.Shapes() {
		t.Run(s.Name, func(t *testing.T) {
			shape := s.Shape
			shape.Window = 1000
			base, entry := serve(t, shape, 60*time.Second)
			manifest := get(t, base+entry)
			if first := regexp.MustCompile(`(?m)^itag/.*m3u8$`).FindString(manifest); first != "" {
				manifest = get(t, base+first)
			}
			for tag, want := range tagsOf(s.Shape) {
				if got := strings.Contains(manifest, tag); got != want {
					t.Errorf("it has %q: %t, want %t:\n%s", tag, got, want, manifest)
				}
			}
			if n := strings.Count(manifest, "#EXTINF"); s.History > 0 && n < 3600 {
				t.Errorf("%d segments of 1 s are listed, want those of an hour", n)
			}
		})
	}
}

// serve serves a broadcast that began this long ago, and returns the base URL and the path of its
// entry. The clock is the real one, because ffmpeg compares the times of an MPD with it.
func serve(t *testing.T, s broadcast.Shape, elapsed time.Duration) (base, entry string) {
	t.Helper()
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := library.Start(t.Context(), s, broadcast.Config{Preroll: elapsed})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	return server.URL + "/", b.Entry()
}

// get returns the body of url.
func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, res.Status, err)
	}
	return string(body)
}

// The real ffmpeg reads every shape when all of it is listed. It must detect black
// and silence where the program has them.
func TestFFmpegDetectsBlackAndSilenceWhereTheProgramHasThem(t *testing.T) {
	for _, s := range broadcast.Shapes() {
		if s.History > 0 {
			continue // too long to decode
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			shape := s.Shape
			shape.Window, shape.Delta = 1000, false
			// ffmpeg waits for more of an MPD that is not static.
			shape.Ends = broadcast.Static
			output := detectShape(t, shape)
			program := broadcast.Program
			if shape.Video != broadcast.NoVideo || shape.Audio == broadcast.NoAudio {
				checkTime(t, output, "black_start:", program.Black)
				checkTime(t, output, "black_end:", program.Picture)
			}
			if shape.Audio != broadcast.NoAudio || shape.Video == broadcast.NoVideo {
				checkTime(t, output, "silence_start: ", program.Silence)
				checkTime(t, output, "silence_end: ", program.Sound)
			}
			if strings.Contains(output, "Error while decoding") {
				t.Errorf("ffmpeg cannot decode it:\n%s", output)
			}
		})
	}
}

// checkTime compares the only time of this name in the detectors' output. MPEG-TS may
// begin two frames early. Packed audio may be off by two AAC frames.
func checkTime(t *testing.T, output, name string, want time.Duration) {
	t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(name)+`([\d.]+)`).FindAllStringSubmatch(output, -1)
	if len(found) != 1 {
		t.Fatalf("ffmpeg printed %q %d times, want once:\n%s", name, len(found), output)
	}
	at, err := strconv.ParseFloat(found[0][1], 64)
	if err != nil || math.Abs(at-want.Seconds()) > 0.15 {
		t.Errorf("%s%v, want %v", name, at, want)
	}
}

// detectShape returns the output of ffmpeg's detectors for a shape.
func detectShape(t *testing.T, s broadcast.Shape) string {
	t.Helper()
	base, entry := serve(t, s, broadcast.Program.End+10*time.Second)
	switch {
	case s.Reconnect > 0 && s.Container == broadcast.FMP4:
		// ffmpeg does not support a second EXT-X-MAP of another size.
		return detect(t, joinSegments(t, base+"itag/91/", "init-0.mp4", 0, 22), 0) + detect(t, joinSegments(t, base+"itag/91/", "init-1.mp4", 22, 31), 44)
	case s.MPD != broadcast.HLS && !s.Demuxed:
		// ffmpeg does not support a representation with two tracks.
		return detect(t, joinSegments(t, base+"itag/91/", "init-0.mp4", 1, 32), 0)
	}
	return detect(t, base+entry, 0)
}

// joinSegments writes an init section and some segments to a file.
func joinSegments(t *testing.T, base, init string, from, to int) string {
	t.Helper()
	all := get(t, base+init)
	for n := from; n < to; n++ {
		all += get(t, base+"seg-"+strconv.Itoa(n)+".m4s")
	}
	name := filepath.Join(t.TempDir(), path.Base(init))
	if err := os.WriteFile(name, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// detect returns the output of ffmpeg's detectors. offset is added to their times, in
// seconds.
func detect(t *testing.T, input string, offset int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	shift := strconv.Itoa(offset)
	args := []string{
		"-hide_banner", "-nostdin", "-nostats", "-i", input,
		"-vf", "setpts=PTS+" + shift + "/TB,blackdetect=d=0.5:pix_th=0.10", "-af", "asetpts=PTS+" + shift + "/TB,silencedetect=n=-50dB:d=0.5",
		"-f", "null", "-",
	}
	out, err := exec.CommandContext(ctx, "ffmpeg", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v (install ffmpeg)\n%s", err, out)
	}
	return string(out)
}
