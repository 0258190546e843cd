package streamlink_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// FuzzRead checks that every output gives a valid Resolution. It never answers for the
// stream's state and has at most one URL. Its Detail is short and has no secret, and it
// can be stored as JSON.
func FuzzRead(f *testing.F) {
	f.Add([]byte(master), []byte(""), 0)
	f.Add([]byte("error: No playable streams found"), []byte(""), 1)
	f.Add([]byte(""), []byte("Traceback"), 1)
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, exit int) {
		got := streamlink.Read(subprocess.Result{ExitCode: exit, Stdout: stdout, Stderr: stderr})
		if got.State.Known() {
			t.Errorf("streamlink cannot know %s", got.State)
		}
		if (got.State == watch.ManifestFound) != (got.Manifest != "") {
			t.Errorf("%s with manifest %q", got.State, got.Manifest)
		}
		if len(got.Renditions) > 0 {
			t.Errorf("got %+v", got)
		}
		pythontooltest.CheckResolution(t, got, streamlink.MaxURL)
	})
}
