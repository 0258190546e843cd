package watch

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// snapshotVersion is the version of the JSON that Snapshot writes. Version 1
// keeps conditions by the name of their detector; before it, the JSON had no
// version and a fixed order of detectors.
const snapshotVersion = 1

type snapshot struct {
	Version int `json:"version"`
	*state
}

// Snapshot returns what a successor needs to go on from here (decision S11). The
// successor emits no event a second time, and open conditions keep their onset.
// The JSON is opaque, has a few kilobytes and holds the manifest's signed URL, so
// it is as secret as that URL.
func (w *Watcher) Snapshot() (json.RawMessage, error) {
	b, err := json.Marshal(snapshot{snapshotVersion, &w.state})
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return b, nil
}

// readSnapshot reads the JSON of any version up to snapshotVersion. Detectors
// that it does not know begin now; those that the table does not have are dropped.
func readSnapshot(raw json.RawMessage) (state, error) {
	var header struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(raw, &header); err != nil {
		return state{}, err
	}
	switch header.Version {
	case 0:
		var err error
		if raw, err = upgradeUnversioned(raw); err != nil {
			return state{}, err
		}
	case snapshotVersion:
	default:
		return state{}, fmt.Errorf("its version is %d; this release reads versions up to %d", header.Version, snapshotVersion)
	}
	var s state
	if err := json.Unmarshal(raw, &s); err != nil {
		return state{}, err
	}
	known := conditions{}
	for _, d := range detector.Table {
		known[d.Name] = s.Conditions.of(d)
	}
	s.Conditions = known
	return s, nil
}

// upgradeUnversioned rewrites a snapshot without a version. Its conditions, and
// what each feed judges, are arrays of blackout and silence.
func upgradeUnversioned(raw json.RawMessage) (json.RawMessage, error) {
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	order := []detector.Name{detector.Blackout, detector.Silence}
	byName := map[detector.Name]any{}
	if listed, ok := all["conditions"].([]any); ok {
		for i, c := range listed[:min(len(listed), len(order))] {
			byName[order[i]] = c
		}
	}
	all["conditions"] = byName
	feeds, _ := all["feeds"].([]any)
	for _, f := range feeds {
		feed, ok := f.(map[string]any)
		if !ok {
			continue
		}
		if judges, ok := feed["judges"].([]any); ok && len(judges) == len(order) {
			feed["tracks"] = map[string]any{"video": judges[0], "audio": judges[1]}
		}
	}
	return json.Marshal(all)
}

// Restore makes a watcher that goes on from a snapshot at now; an empty snapshot
// is a new start. The time in which nobody watched counts for no stall and no
// outage, and for blindness only if the watcher was blind before and still is.
// The time before it counts, and open conditions stay open.
func Restore(rules Rules, raw json.RawMessage, now time.Time) (*Watcher, error) {
	w := New(rules, now)
	if len(raw) == 0 {
		return w, nil
	}
	s, err := readSnapshot(raw)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if back := s.At.Sub(now); back > 0 {
		// This clock is behind the one of the snapshot. A clock ahead of it cannot
		// be told from a time in which nobody watched.
		s.shiftClock(-back)
		s.At = now
	}
	s.resume(now, now.Sub(s.At)) // without At, as long as can be
	w.state = s
	return w, nil
}

// resume goes on at now, after a time in which nobody watched, and asks for
// everything at once.
func (s *state) resume(now time.Time, unwatched time.Duration) {
	s.At = now // a successor that dies before its first step has not been away for longer
	s.Resolve.Next = now
	for _, f := range s.Feeds {
		f.LastReadAt, f.LastCheckedAt, f.failingSince = time.Time{}, time.Time{}, time.Time{}
		f.window, f.pending, f.bisection = nil, nil, bisection{}
		f.refused, f.refusedAfterGoodRenewal, f.untried = false, false, false
		f.Outage.RetryAt, f.Outage.Failures = now, 0 // the URL may have expired meanwhile; a renewed one is tried at once
		if f.Outage.open() {
			f.Outage.Unwatched = min(f.Outage.Unwatched+unwatched, now.Sub(f.Outage.Since))
		}
		f.Newest.Unwatched = min(f.Newest.Unwatched+unwatched, now.Sub(f.Newest.SeenAt))
		f.urlChanged = true
	}
	s.Blind.resume(now, unwatched)
}
