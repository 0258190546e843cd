package broadcast_test

import (
	"context"
	"math"
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

	"github.com/stream-monitor/stream-monitor/test/fake/broadcast"
)

// The real ffmpeg reads every shape when all of it is listed. It must detect black
// and silence where the program has them.
func TestFFmpegDetectsBlackAndSilenceWhereTheProgramHasThem(t *testing.T) {
	for _, s := range broadcast.Shapes() {
		if s.History > 0 {
			continue // too long to decode; see TestTheHistoryContinuesIntoTheRecording
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
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The clock is the real one, because ffmpeg compares the times of an MPD with it.
	b, err := library.Start(t.Context(), s, broadcast.Config{Preroll: broadcast.Program.End + 10*time.Second})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	entry := server.URL + "/" + b.Entry()
	switch {
	case s.Reconnect > 0 && s.Container == broadcast.FMP4:
		// ffmpeg does not support a second EXT-X-MAP of another size.
		return detect(t, joinSegments(t, server.URL+"/itag/91/", "init-0.mp4", 0, 22), 0) + detect(t, joinSegments(t, server.URL+"/itag/91/", "init-1.mp4", 22, 31), 44)
	case s.MPD != broadcast.HLS && !s.Demuxed:
		// ffmpeg does not support a representation with two tracks.
		return detect(t, joinSegments(t, server.URL+"/itag/91/", "init-0.mp4", 1, 32), 0)
	}
	return detect(t, entry, 0)
}

// joinSegments writes an init section and some segments to a file.
func joinSegments(t *testing.T, base, init string, from, to int) string {
	t.Helper()
	all := mustGet(t, base+init)
	for n := from; n < to; n++ {
		all += mustGet(t, base+"seg-"+strconv.Itoa(n)+".m4s")
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

// frameTimes returns the time of every video frame in MPEG-TS, in seconds.
func frameTimes(t *testing.T, media string) (times []float64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-f", "mpegts", "-select_streams", "v", "-show_entries", "frame=pts_time", "-of", "csv=p=0", "-i", "pipe:0")
	cmd.Stdin = strings.NewReader(media)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v (install ffmpeg)", err)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.Trim(line, ",\n")
		if line == "" {
			continue // of another program
		}
		at, err := strconv.ParseFloat(line, 64)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, at)
	}
	return times
}

// serve starts a server of b and returns its URL.
func serve(t *testing.T, b *broadcast.Broadcast) string {
	t.Helper()
	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	return server.URL
}
