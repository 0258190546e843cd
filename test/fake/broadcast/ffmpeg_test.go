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
			continue // an hour is long; see TestHistory
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			shape := s.Shape
			shape.Window, shape.Delta = 1000, false
			// ffmpeg waits for more of an MPD that is not static.
			shape.Ends = broadcast.Static
			seen := see(t, shape)
			program := broadcast.Program
			if shape.Video != broadcast.NoVideo || shape.Audio == broadcast.NoAudio {
				near(t, seen, "black_start:", program.Black)
				near(t, seen, "black_end:", program.Picture)
			}
			if shape.Audio != broadcast.NoAudio || shape.Video == broadcast.NoVideo {
				near(t, seen, "silence_start: ", program.Silence)
				near(t, seen, "silence_end: ", program.Sound)
			}
			if strings.Contains(seen, "Error while decoding") {
				t.Errorf("it does not decode:\n%s", seen)
			}
		})
	}
}

// near looks for one time in what the detectors say. MPEG-TS may begin two
// frames early, packed audio an AAC frame, an encoder's delay another.
func near(t *testing.T, seen, what string, want time.Duration) {
	t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(what)+`([\d.]+)`).FindAllStringSubmatch(seen, -1)
	if len(found) != 1 {
		t.Fatalf("%s comes %d times in\n%s", what, len(found), seen)
	}
	at, err := strconv.ParseFloat(found[0][1], 64)
	if off := math.Abs(at - want.Seconds()); err != nil || off > 0.15 {
		t.Errorf("%s%v, want %v", what, at, want)
	}
}

// see returns what ffmpeg's detectors say of a shape.
func see(t *testing.T, s broadcast.Shape) string {
	t.Helper()
	// A player of DASH believes its own clock.
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := library.Start(t.Context(), s, broadcast.Config{Preroll: broadcast.Program.End + 10*time.Second})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	entry := server.URL + "/" + b.Entry()
	switch {
	case s.Reconnect > 0 && s.Container == broadcast.FMP4:
		// ffmpeg does not take a second EXT-X-MAP of another size.
		return detect(t, joined(t, server.URL+"/itag/91/", "init-0.mp4", 0, 22), 0) + detect(t, joined(t, server.URL+"/itag/91/", "init-1.mp4", 22, 31), 44)
	case s.MPD != broadcast.HLS && !s.Demuxed:
		// Nor a representation with two tracks.
		return detect(t, joined(t, server.URL+"/itag/91/", "init-0.mp4", 1, 32), 0)
	}
	return detect(t, entry, 0)
}

// joined is a file of an initialisation section and some segments.
func joined(t *testing.T, base, init string, from, to int) string {
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

// detect runs ffmpeg's detectors, with seconds added to the times they see.
func detect(t *testing.T, input string, later int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	offset := strconv.Itoa(later)
	args := []string{
		"-hide_banner", "-nostdin", "-nostats", "-i", input,
		"-vf", "setpts=PTS+" + offset + "/TB,blackdetect=d=0.5:pix_th=0.10", "-af", "asetpts=PTS+" + offset + "/TB,silencedetect=n=-50dB:d=0.5",
		"-f", "null", "-",
	}
	out, err := exec.CommandContext(ctx, "ffmpeg", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v (install ffmpeg)\n%s", err, out)
	}
	return string(out)
}

// stamps is the time of every frame of picture in MPEG-TS, as ffprobe sees it.
func stamps(t *testing.T, media string) (times []float64) {
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

// serve serves a broadcast.
func serve(t *testing.T, b *broadcast.Broadcast) string {
	t.Helper()
	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	return server.URL
}
