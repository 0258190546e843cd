package dash_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// maxWait is how long a test waits for an encoder on a busy machine.
const maxWait = 60 * time.Second

// ffmpeg writes the MPDs during a live stream and at its end.
func TestMPDsOfFFmpegAreDecoded(t *testing.T) {
	ffmpeg, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string][]string{
		"with a timeline":  {"-use_timeline", "1"},
		"by number":        {"-use_timeline", "0"},
		"with low latency": {"-use_timeline", "0", "-ldash", "1", "-frag_type", "every_frame", "-utc_timing_url", "https://time.example.com/"},
		"as a list":        {"-use_template", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "m.mpd")
			args := append([]string{
				"-hide_banner", "-loglevel", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=20", "-re", "-f", "lavfi", "-i", "sine",
				"-t", "120", "-c:v", "libx264", "-preset", "ultrafast", "-g", "10", "-b:v", "100k", "-c:a", "aac", "-f", "dash", "-seg_duration", "0.5",
				"-window_size", "5", "-extra_window_size", "5", "-streaming", "1",
				"-adaptation_sets", "id=0,streams=v id=1,streams=a",
			}, options...)
			cmd := exec.CommandContext(t.Context(), ffmpeg, append(args, file)...)
			keys, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stopped := make(chan struct{})
			go func() { cmd.Wait(); close(stopped) }()
			defer func() { cmd.Process.Kill(); <-stopped }()

			var seen [2]string
			readWhileGrowing(t, dir, file, &seen, &stderr)
			io.WriteString(keys, "q")
			<-stopped

			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range renditions(t, string(text), time.Now()) {
				p := readRendition(t, string(text), fragmentOf(t, r), time.Now())
				if !p.Ended || len(p.Segments) == 0 {
					t.Fatalf("ended: %v, %s", p.Ended, summary(p))
				}
				checkFiles(t, dir, p.Segments[:len(p.Segments)-missingAtEnd(string(text))])
			}
		})
	}
}

// readWhileGrowing decodes an MPD that ffmpeg is writing until its newest segment has
// changed four times.
func readWhileGrowing(t *testing.T, dir, file string, seen *[2]string, stderr *bytes.Buffer) {
	t.Helper()
	const changes = 4
	var changed [2]int
	for deadline := time.Now().Add(maxWait); changed[0] < changes || changed[1] < changes; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(file)
			_, failure := decode(t, string(text), "kind=video&id=0&bandwidth=0", time.Now())
			t.Fatalf("the newest segments changed %v times; %v; %s\n%s", changed, failure, stderr, text)
		}
		text, err := os.ReadFile(file)
		if err != nil || len(text) == 0 {
			continue
		}
		for i, part := range []string{"kind=video&id=0&bandwidth=0", "kind=audio&id=1&bandwidth=0"} {
			p, failure := decode(t, string(text), part, time.Now())
			if failure != nil {
				continue // no segment is available yet
			}
			newest := p.Segments[len(p.Segments)-1]
			if newest.ProgramTime.IsZero() != strings.Contains(string(text), "<SegmentList") {
				t.Errorf("program time %v", newest.ProgramTime)
			}
			if newest.ProgramTime.IsZero() {
				newest.ProgramTime = time.Now().Add(-newest.Duration)
			}
			if late := time.Since(newest.ProgramTime.Add(newest.Duration)); late < -time.Second || late > 20*time.Second || p.Ended {
				t.Errorf("ended: %v, the newest ended %v ago", p.Ended, late)
			}
			if newest.URI != seen[i] {
				changed[i]++
				seen[i] = newest.URI
			}
			checkFiles(t, dir, p.Segments[len(p.Segments)-1:])
		}
	}
}

// missingAtEnd returns how many segments at the end of a track may not exist. An MPD by
// number promises as many of each track as its length holds, but one track ends earlier.
func missingAtEnd(mpd string) int {
	if strings.Contains(mpd, "<SegmentTimeline") || strings.Contains(mpd, "<SegmentList") {
		return 0
	}
	return 1
}

// checkFiles fails the test unless the files of segments and their init sections exist, or
// come soon. An MPD by number promises its newest segment by the clock, which an encoder on
// a busy machine does not keep.
func checkFiles(t *testing.T, dir string, segments []watch.Segment) {
	t.Helper()
	for _, s := range segments {
		uris := []string{s.URI}
		if s.Init != nil {
			uris = append(uris, s.Init.URI)
		}
		for _, uri := range uris {
			name, ok := strings.CutPrefix(uri, "https://cdn.example.com/live/")
			_, err := os.Stat(filepath.Join(dir, name))
			for deadline := time.Now().Add(maxWait); err != nil && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				_, err = os.Stat(filepath.Join(dir, name))
			}
			if !ok || err != nil || s.Container != "mp4" {
				t.Errorf("%s: %v, in %s", uri, err, s.Container)
			}
		}
	}
}
