package broadcast

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Config says when a broadcast begins. The zero value begins now.
type Config struct {
	Start   time.Time        // of the recording's first frame; default now
	Preroll time.Duration    // media before Start, so that the playlists are full at once
	Now     func() time.Time // default time.Now
}

// Broadcast publishes a recording as a live stream. It has no goroutine, needs no Close,
// and is safe for concurrent use.
type Broadcast struct {
	shape  Shape
	start  time.Time
	now    func() time.Time
	tracks []track

	mu       sync.Mutex
	notFound []string
}

// Start begins a broadcast in a shape. It blocks while missing media are encoded. Its
// errors are those of Prepare.
func (l *Library) Start(ctx context.Context, s Shape, c Config) (*Broadcast, error) {
	if err := s.applyDefaults(); err != nil {
		return nil, err
	}
	parts, err := l.packages(ctx, s)
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
	return &Broadcast{shape: s, start: c.Start.Add(-c.Preroll).Truncate(time.Millisecond), now: c.Now, tracks: buildTracks(s, parts)}, nil
}

// At returns the wall time of an instant of the recording, such as one of [Program].
func (b *Broadcast) At(instant time.Duration) time.Time {
	if b.shape.Reconnect > 0 && instant >= b.shape.Reconnect {
		instant += b.shape.ReconnectGap
	}
	return b.start.Add(instant)
}

// Entry returns the path of the manifest that a player is given.
func (b *Broadcast) Entry() string {
	switch {
	case b.shape.MPD != HLS:
		return manifest
	case b.shape.MediaEntry:
		return b.tracks[0].path()
	}
	return master
}

// NotFound lists the requested files that did not exist: not yet on the air, in a
// gap, or unknown.
func (b *Broadcast) NotFound() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notFound)
}

func (b *Broadcast) recordNotFound(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notFound = append(b.notFound, name)
}

// elapsed returns the time since the recording's first frame.
func (b *Broadcast) elapsed() time.Duration { return b.now().Sub(b.start) }

// ended reports whether the whole recording is published.
func (b *Broadcast) ended() bool {
	for _, t := range b.tracks {
		if t.published(b.elapsed()) < len(t.segments) {
			return false
		}
	}
	return true
}
