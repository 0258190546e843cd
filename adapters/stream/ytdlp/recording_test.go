package ytdlp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// start is the release_timestamp of every recording that has one.
var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// expectEqual compares two resolutions by the JSON that the watcher stores. It leaves out
// the words for people.
func expectEqual(t *testing.T, got, want watch.Resolution) {
	t.Helper()
	got.Title, got.Channel, got.ScheduledStart = "", "", time.Time{}
	if g, w := stored(t, got), stored(t, want); g != w {
		t.Errorf("got %s\nwant %s", g, w)
	}
}

// stored returns the JSON of a resolution.
func stored(t *testing.T, r watch.Resolution) string {
	t.Helper()
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	must.Do(t, encoder.Encode(r))
	return b.String()
}

// recordedRun is the output of yt-dlp 2026.10.26 for a fake YouTube in the state that names the
// file. Its JSON is shortened to the fields that matter.
type recordedRun struct {
	name, id       string
	stdout, stderr []byte
	resolution     string // which it must give, as JSON
}

func recordedRuns(tb testing.TB) []recordedRun {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) < 40 {
		tb.Fatalf("%d recordings in testdata (%v)", len(paths), err)
	}
	var all []recordedRun
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(tb)
		head, rest, _ := bytes.Cut(text, []byte("-- stderr --\n"))
		stderr, rest, _ := bytes.Cut(rest, []byte("-- stdout --\n"))
		stdout, resolution, ok := bytes.Cut(rest, []byte("-- resolution --\n"))
		id, named := strings.CutPrefix(strings.TrimSpace(string(head)), "id ")
		if !ok || !named {
			tb.Fatalf("%s is not a recording", path)
		}
		all = append(all, recordedRun{strings.TrimSuffix(filepath.Base(path), ".txt"), id, stdout, stderr, string(resolution)})
	}
	return all
}

func TestEveryRecordedOutputGivesItsResolution(t *testing.T) {
	for _, r := range recordedRuns(t) {
		t.Run(r.name, func(t *testing.T) {
			if got := stored(t, ytdlp.Read(r.id, r.stdout, r.stderr)); got != r.resolution {
				t.Errorf("got %s\nwant %s", got, r.resolution)
			}
		})
	}
}

// FuzzRead checks that every output gives a valid Resolution. Its state is known, its
// Detail is short and has no secret, and it can be stored as JSON. Only a live stream
// has URLs.
func FuzzRead(f *testing.F) {
	for _, r := range recordedRuns(f) {
		f.Add(r.stdout, r.stderr)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr []byte) {
		var head struct{ ID string }
		_ = json.Unmarshal(stdout, &head)
		got := ytdlp.Read(head.ID, stdout, stderr)
		switch got.State {
		case watch.Live, watch.Upcoming, watch.Offline, watch.Ended, watch.NotALiveStream, watch.Private, watch.Removed,
			watch.RegionLocked, watch.AgeRestricted, watch.MembersOnly, watch.Blocked, watch.RateLimited,
			watch.NameUnresolved, watch.ProxyFailed, watch.Unreachable, watch.ToolFailed:
		default:
			t.Errorf("state %q", got.State)
		}
		if got.State != watch.Live && (len(got.Renditions) > 0 || got.Manifest != "" || !got.Expires.IsZero()) {
			t.Errorf("%s with media", got.State)
		}
		if len(got.Renditions) > ytdlp.MaxRenditions {
			t.Errorf("%d renditions", len(got.Renditions))
		}
		pythontooltest.CheckResolution(t, got, ytdlp.MaxURL)
	})
}
