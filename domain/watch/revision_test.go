package watch_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// checkRevision fails the test if the durable state has changed and the revision has not advanced.
func (w *world) checkRevision(o watch.Observation) {
	w.t.Helper()
	revision, durable := w.watcher.Revision(), durableState(w.t, w.snapshot())
	if durable != w.durable && revision == w.revision {
		w.t.Errorf("second %v: %T changed the state without a new revision, to\n%s, from\n%s", w.now, o, durable, w.durable)
	}
	w.revision, w.durable = revision, durable
}

// durableState returns a snapshot without what every check changes: a successor learns that from
// its first reading of the playlist.
func durableState(t *testing.T, snapshot []byte) string {
	t.Helper()
	var s struct {
		Feeds      []map[string]any
		Others     map[string]any
		Text       map[string]any
		Official   map[string]any
		NoData     map[string]any `json:"no_data"`
		Conditions map[string]map[string]any
		Blind      map[string]any
		Statistics monitor.Statistics
	}
	rest := map[string]json.RawMessage{}
	for _, part := range []any{&s, &rest} {
		if err := json.Unmarshal(snapshot, part); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range s.Feeds {
		without(f, "newest", "screened", "last_checked_at", "last_read_at")
		without(f["clock"].(map[string]any), "end")
	}
	for _, c := range s.Conditions {
		without(c, "judged_until", "bad_until")
	}
	without(s.Blind, "since", "observed_at")
	without(s.Others, "read_at", "turn_at")
	without(s.Official, "asked_at")
	without(s.NoData, "asked_at")
	if len(s.NoData) == 0 {
		s.NoData = nil
	}
	without(s.Text, "read_at", "newest", "new_at", "state")
	others, _ := s.Others["all"].([]any)
	for _, r := range others {
		without(r.(map[string]any), "looked_at", "newest", "moved_at", "lag", "stands")
	}
	s.Statistics.TotalSegmentsAnalyzed = 0
	without(rest, "at", "last_check_at", "odd_segments", "feeds", "others", "text", "official", "no_data", "conditions", "blind", "statistics")
	durable, err := json.Marshal([]any{rest, s})
	if err != nil {
		t.Fatal(err)
	}
	return string(durable)
}

func without[V any](m map[string]V, names ...string) {
	for _, n := range names {
		delete(m, n)
	}
}

func TestTheRevisionAdvancesWithTheDurableState(t *testing.T) { // S11
	const end = 600
	rapid.Check(t, func(r *rapid.T) {
		w := anyWorld(r, t, end)
		w.live.to, w.checksRevision = end, true
		w.from(rapid.Float64Range(0, end/2).Draw(r, "watched from"))
		w.revision = -1 // there is no state before the first step
		w.until(end / 2)
		if !w.over {
			w.resume(2)
			w.revision = -1
		}
		w.until(end + 300)
		if t.Failed() {
			r.Fatal("see above")
		}
	})
}
