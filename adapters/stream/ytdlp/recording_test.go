package ytdlp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func media(itag string) string {
	return "https://manifest.googlevideo.com/api/manifest/hls_playlist/expire/1795000000/itag/" + itag + "/sig/AA/playlist/index.m3u8"
}

// expectEqual compares two resolutions by the JSON that the watcher stores. It leaves out
// the words for people.
func expectEqual(t *testing.T, got, want watch.Resolution) {
	t.Helper()
	got.Title, got.Channel, got.ScheduledStart = "", "", time.Time{}
	g, _ := json.MarshalIndent(got, "", " ")
	w, _ := json.MarshalIndent(want, "", " ")
	if !bytes.Equal(g, w) {
		t.Errorf("got %s\nwant %s", g, w)
	}
}

type recordedRun struct {
	name, id       string
	stdout, stderr []byte
}

func recordedRuns(tb testing.TB) []recordedRun {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no recordings in testdata (%v)", err)
	}
	var all []recordedRun
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		head, rest, ok := bytes.Cut(text, []byte("-- stderr --\n"))
		stderr, stdout, ok2 := bytes.Cut(rest, []byte("-- stdout --\n"))
		id, ok3 := strings.CutPrefix(strings.TrimSpace(string(head)), "id ")
		if !ok || !ok2 || !ok3 {
			tb.Fatalf("%s is not a recording", path)
		}
		all = append(all, recordedRun{strings.TrimSuffix(filepath.Base(path), ".txt"), id, stdout, stderr})
	}
	return all
}
