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
	*life
}

// Snapshot returns everything that a successor needs to go on from here
// (decision S11): it emits no second stream.started and no alert twice, and
// open conditions keep their onset. The JSON is opaque, has a few kilobytes and
// holds the manifest's signed URL, so it is as secret as that URL.
func (w *Watcher) Snapshot() (json.RawMessage, error) {
	b, err := json.Marshal(snapshot{snapshotVersion, &w.life})
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return b, nil
}

// readSnapshot reads the JSON of any version up to snapshotVersion. Detectors
// that it does not know begin now; those that the table lacks are dropped.
func readSnapshot(raw json.RawMessage) (life, error) {
	var header struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(raw, &header); err != nil {
		return life{}, err
	}
	switch header.Version {
	case 0:
		var err error
		if raw, err = upgradeUnversioned(raw); err != nil {
			return life{}, err
		}
	case snapshotVersion:
	default:
		return life{}, fmt.Errorf("its version is %d; this release reads versions up to %d", header.Version, snapshotVersion)
	}
	var l life
	if err := json.Unmarshal(raw, &l); err != nil {
		return life{}, err
	}
	known := conditions{}
	for _, d := range detector.Table {
		known[d.Name] = l.Conditions.of(d)
	}
	l.Conditions = known
	return l, nil
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

// Restore makes a watcher that goes on from a snapshot at now. An empty
// snapshot is a new start. The time in which nobody watched is no stall, no
// outage and no blindness; the time before it is, and what was open stays open.
func Restore(rules Rules, snapshot json.RawMessage, now time.Time) (*Watcher, error) {
	w := New(rules, now)
	if len(snapshot) == 0 {
		return w, nil
	}
	l, err := readSnapshot(snapshot)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if back := l.At.Sub(now); back > 0 {
		// The successor's clock is behind the one by which the snapshot was made. A
		// clock ahead of it cannot be told from a time in which nobody watched.
		l.shiftClock(-back)
		l.At = now // until then nobody looked, and no time has passed
	}
	l.resume(now, now.Sub(l.At)) // of a snapshot that tells no time: as long as can be
	w.life = l
	return w, nil
}

// resume goes on at now, after a time in which nobody watched, and forgets what a
// snapshot does not hold.
func (l *life) resume(now time.Time, unwatched time.Duration) {
	l.At = now // a successor that dies before it looks has not been away for longer
	l.Asking.Next = now
	for _, f := range l.Feeds {
		f.ReadAt, f.CheckedAt = time.Time{}, time.Time{}
		f.window, f.wanted, f.trace, f.failingSince = nil, nil, trace{}, time.Time{}
		f.Outage.RetryAt, f.Outage.Failures = now, 0 // a URL handed on may be an old one: the backoff is for those found since
		if f.Outage.open() {
			f.Outage.Unwatched = min(f.Outage.Unwatched+unwatched, now.Sub(f.Outage.Since))
		}
		f.Newest.Unwatched = min(f.Newest.Unwatched+unwatched, now.Sub(f.Newest.Moved))
		f.switched = true
		f.refused, f.newExpiry, f.untried = false, false, false
	}
	l.Blind.resume(now, unwatched)
}
