package youtube_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // it starts tools
)

func TestTheStandInPrintsWhatYtdlpWouldPrint(t *testing.T) {
	const recorded, id = "recorded-id", "fakeyoutube"
	y := startServer(t)
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := library.Start(t.Context(), livestream.Config{Preroll: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := testtools.Tool("yt-dlp", "")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	y.Add(recorded, youtube.Video{State: youtube.Live, Source: stream, Started: noon})
	recording, err := y.Record(recorded, ask(t, y, tool, recorded))
	if err != nil {
		t.Fatal(err)
	}
	y.Add(id, youtube.Video{State: youtube.Live, Source: stream, Started: noon.Add(time.Minute)})
	want, asked := ask(t, y, tool, id), y.Count(youtube.Watch, id)

	marker := filepath.Join(t.TempDir(), "yt-dlp")
	if err := os.WriteFile(marker, []byte("#!/bin/sh\necho the real tool\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	standIn, err := y.StandIn(marker, recording)
	if err != nil {
		t.Fatal(err)
	}
	replays := func() bool { t.Helper(); return string(ask(t, y, standIn, id)) != "the real tool\n" }
	if replays() {
		t.Error("the recording is printed before a test allows it")
	}
	y.Replay(id)
	got := ask(t, y, standIn, id)
	printed, wanted := fields(t, got), fields(t, want)
	for name := range wanted {
		if !reflect.DeepEqual(printed[name], wanted[name]) {
			t.Errorf("%s is %v, want %v", name, printed[name], wanted[name])
		}
	}
	if n := y.Count(youtube.Watch, id) - asked; n != 1 {
		t.Errorf("one question is counted as %d", n)
	}

	for name, change := range map[string]func() (undo func()){
		"a video in another state": func() func() {
			y.Set(id, youtube.Private)
			return func() { y.Set(id, youtube.Live) }
		},
		"other renditions": func() func() {
			y.Broadcast(id, audioOnly{stream})
			return func() { y.Broadcast(id, stream) }
		},
		"a page that fails": func() func() { return y.Inject(youtube.Watch, id, 0, httpfault.Status(500)) },
		"a master playlist that fails": func() func() {
			stream.Fail(livestream.Masters, httpfault.Status(500))
			return func() { stream.Heal(livestream.Masters) }
		},
	} {
		undo := change()
		if replays() {
			t.Errorf("the recording is printed about %s", name)
		}
		if undo(); !replays() {
			t.Errorf("the recording is not printed after %s", name)
		}
	}
}

// audioOnly is a source with one rendition.
type audioOnly struct{ youtube.Source }

func (audioOnly) Renditions() []livestream.Rendition {
	return []livestream.Rendition{livestream.AudioOnly}
}

// different matches what differs between two runs. That is the issue of the media URLs, the
// minute in the title, and the browser that yt-dlp claims to be.
var different = regexp.MustCompile(`expire/\d+/ei/issue-\d+/| \d{4}-\d\d-\d\d \d\d[:_]\d\d|Chrome/[\d.]+`)

// fields returns the JSON that yt-dlp printed, without what differs between two runs.
func fields(t *testing.T, printed []byte) (all map[string]any) {
	t.Helper()
	if err := json.Unmarshal(different.ReplaceAll(printed, nil), &all); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	delete(all, "epoch")
	return all
}

// ask runs yt-dlp, or what stands in for it, as the product does.
func ask(t *testing.T, y *youtube.Server, tool, video string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool, "--ignore-config", "--ignore-no-formats-error", "--no-playlist",
		"--socket-timeout", "10", "--extractor-retries", "1", "--dump-json", "--", y.URL(video))
	cmd.Env = append(os.Environ(), y.Env()...)
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out
}
