package watch_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// egress returns the address of each task of the resolve and media lanes.
func egress(w *watch.Watcher) (all []string) {
	for _, task := range w.Next() {
		if task.Kind.Lane() != watch.LaneTimer {
			all = append(all, task.Egress)
		}
	}
	return all
}

func liveAt(sec float64, address, url string) watch.Resolution {
	return watch.Resolution{Began: at(sec), State: watch.Live, Egress: address, Renditions: []watch.Rendition{{URL: url, HasVideo: true, HasAudio: true}}}
}

func TestURLsAreReadThroughTheAddressThatAskedForThem(t *testing.T) { // decision O8
	w := watch.New(rules(), at(0))
	expect := func(when string, want ...string) {
		t.Helper()
		if got := egress(w); !slices.Equal(got, want) {
			t.Errorf("%s the addresses are %q, want %q", when, got, want)
		}
	}
	expect("at first", "")
	w.Step(at(1), liveAt(0, "a", "https://media.example/1"))
	expect("with a manifest", "a", "a")

	w.Step(at(301), liveAt(300, "b", "https://media.example/2"))
	expect("after an answer that is not needed", "a", "a")

	snapshot, err := w.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if w, err = watch.Restore(rules(), snapshot, at(400)); err != nil {
		t.Fatal(err)
	}
	expect("after a restart", "a", "a")

	w.Step(at(401), watch.Playlist{Began: at(400), URL: "https://media.example/1", Failure: watch.NewFailure(watch.FailureExpired, "403")})
	w.Step(at(403), liveAt(402, "b", "https://media.example/2"))
	expect("with another manifest", "b", "b")
}

func TestARenewedManifestIsReadThroughItsAddress(t *testing.T) { // decision O8
	w := watch.New(rules(), at(0))
	w.Step(at(1), liveAt(0, "a", "https://media.example/1"))
	w.Step(at(2), watch.Playlist{Began: at(1), URL: "https://media.example/1", Failure: watch.NewFailure(watch.FailureExpired, "403")})
	w.Step(at(3), watch.Resolution{Began: at(2), State: watch.Live, Egress: "b", Manifest: "https://media.example/master"})
	if got := egress(w); !slices.Equal(got, []string{"b", "b"}) {
		t.Errorf("the master playlist is read through %q", got)
	}
	w.Step(at(4), watch.Playlist{Began: at(3), URL: "https://media.example/master", Failure: watch.NewFailure(watch.FailureNetwork, "timeout")})
	if got := egress(w); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("without it, the addresses are %q: the old playlist is bound to a", got)
	}
}
