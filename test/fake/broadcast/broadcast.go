package broadcast

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Config is when a broadcast is. The zero value begins now.
type Config struct {
	Start time.Time        // of the recording's first frame; default now
	Lead  time.Duration    // begin this much before Start, so that the playlists are full at once
	Now   func() time.Time // default time.Now
}

// Broadcast is a recording on the air. It has no goroutine and nothing to
// close, and can be used from several goroutines.
type Broadcast struct {
	shape  Shape
	start  time.Time
	now    func() time.Time
	tracks []track

	mu     sync.Mutex
	missed []string
}

// Start puts the recording on the air in a shape, and makes what it takes
// first; see Prepare, whose errors it has.
func (l *Library) Start(ctx context.Context, s Shape, c Config) (*Broadcast, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	packs, err := l.packages(ctx, s)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Start.IsZero() {
		c.Start = c.Now()
	}
	// To the millisecond, because that is what a playlist can say.
	return &Broadcast{shape: s, start: c.Start.Add(-c.Lead).Truncate(time.Millisecond), now: c.Now, tracks: lay(s, packs)}, nil
}

// At is when an instant of the recording, one of [Program]'s, is on the air.
func (b *Broadcast) At(instant time.Duration) time.Time {
	if b.shape.Reconnect > 0 && instant >= b.shape.Reconnect {
		instant += b.shape.Away
	}
	return b.start.Add(instant)
}

// Entry is the path of what a player is given.
func (b *Broadcast) Entry() string {
	switch {
	case b.shape.MPD != HLS:
		return manifest
	case b.shape.MediaEntry:
		return b.tracks[0].path()
	}
	return master
}

// Missed lists the requested files that did not exist: not yet on the air, in a
// gap, or unknown.
func (b *Broadcast) Missed() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.missed)
}

func (b *Broadcast) miss(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missed = append(b.missed, name)
}

// elapsed is now, as a distance from the recording's first frame.
func (b *Broadcast) elapsed() time.Duration { return b.now().Sub(b.start) }

// ended tells whether all of the recording has been on the air.
func (b *Broadcast) ended() bool {
	for _, t := range b.tracks {
		if t.out(b.elapsed()) < len(t.segments) {
			return false
		}
	}
	return true
}
