package watch

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// snapshotVersion is the version of the JSON that Snapshot writes.
const snapshotVersion = 1

type snapshot struct {
	Version int `json:"version"`
	*state
}

// Snapshot returns the state as JSON, from which a successor goes on (decision
// S11). The successor emits no event a second time, and open conditions keep their
// onset. The JSON is opaque and has a few kilobytes. It holds the manifest's signed
// URL, so it is as secret as that URL.
func (w *Watcher) Snapshot() (json.RawMessage, error) {
	b, err := json.Marshal(snapshot{snapshotVersion, &w.state})
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return b, nil
}

// SnapshotIfDue returns the Snapshot, or nil while a successor can go on from the one that it
// returned last (decision S11). That is so for snapshotInterval while the revision stays. The
// caller must deliver each one, unless a later one comes first.
func (w *Watcher) SnapshotIfDue() (json.RawMessage, error) {
	age := w.state.At.Sub(w.newestSnapshot.at)
	if age >= 0 && age < snapshotInterval && w.revision == w.newestSnapshot.revision {
		return nil, nil
	}
	w.newestSnapshot = snapshotMark{w.state.At, w.revision}
	return w.Snapshot()
}

// snapshotMark describes a snapshot that was returned.
type snapshotMark struct {
	at       time.Time
	revision int
}

// countsTime reports whether something lasts of which a successor counts only what was watched. It
// needs the time of the last step then (decision S11). Of an alerted condition it needs the
// onset alone.
func (s *state) countsTime() bool {
	for _, c := range s.Conditions {
		if c.Open && !c.Alerted {
			return true
		}
	}
	return s.Blind.LastError != "" || s.Blind.Alerted || s.Resolve.Claim.open() || slices.ContainsFunc(s.Feeds, func(f *mediaFeed) bool {
		return f.Outage.open() || s.At.Sub(f.Newest.unchangedSince()) > steadyLimit
	})
}

// readSnapshot reads the JSON of snapshotVersion. A detector that the snapshot lacks begins
// now. A detector that the table lacks is dropped.
func readSnapshot(raw json.RawMessage) (state, error) {
	var s state
	read := snapshot{state: &s}
	if err := json.Unmarshal(raw, &read); err != nil {
		return state{}, err
	}
	if read.Version != snapshotVersion {
		return state{}, fmt.Errorf("its version is %d; this release reads version %d", read.Version, snapshotVersion)
	}
	known := conditions{}
	for _, d := range detector.Table {
		known[d.Name] = s.Conditions.of(d)
	}
	s.Conditions = known
	return s, nil
}

// Restore makes a watcher that goes on from a snapshot at now. With an empty
// snapshot it is New. The time in which nobody watched counts neither for a stall
// nor for an outage. It counts for blindness if the last attempts before it had
// failed. The time before it counts, and open conditions stay open.
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
		// This machine's clock is behind the clock of the snapshot's machine. A clock
		// that is ahead looks like a time in which nobody watched.
		s.shiftClock(-back)
		s.At = now
	}
	s.resume(now, now.Sub(s.At))
	w.state = s
	w.followPause()
	return w, nil
}

// resume goes on at now, after a time in which nobody watched. All playlists are due at
// once, and so is the question, unless they move (decision S17).
func (s *state) resume(now time.Time, unwatched time.Duration) {
	s.At = now // if this worker dies before its first step, the next one must not count the same time again
	s.Resolve.NextAt = now
	if s.Resolve.Claim.open() {
		s.Resolve.Claim.At = now // no segment could contradict it while nobody watched
	}
	for _, f := range s.Feeds {
		f.readAtOnce()
		f.LastCheckedAt, f.failingSince = time.Time{}, time.Time{}
		f.listing.segments, f.pending, f.bisection = nil, nil, bisection{}
		f.Outage.RetryAt, f.Outage.Failures = now, 0
		if f.Outage.open() {
			f.Outage.Unwatched = min(f.Outage.Unwatched+unwatched, now.Sub(f.Outage.Since))
		}
		f.Newest.Unwatched = min(f.Newest.Unwatched+unwatched, now.Sub(f.Newest.SeenAt))
		f.changeURL()
	}
	s.Blind.resume(now, unwatched)
}
