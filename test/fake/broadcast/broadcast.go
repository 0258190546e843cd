package broadcast

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Config says when a broadcast begins: with the first request, so that a viewer misses nothing,
// however late it comes.
type Config struct {
	Preroll time.Duration // media before the first request, so that the playlists are full at once
}

// Broadcast publishes a recording as a live stream. It has no goroutine, needs no Close,
// and is safe for concurrent use.
type Broadcast struct {
	shape  Shape
	config Config
	tracks []track

	mu       sync.Mutex
	started  time.Time // of the recording's first frame; zero before the first request
	notFound []string
}

// Start makes a broadcast in a shape. It blocks while missing media are encoded. Its
// errors are those of Prepare.
func (l *Library) Start(ctx context.Context, s Shape, c Config) (*Broadcast, error) {
	if err := s.applyDefaults(); err != nil {
		return nil, err
	}
	parts, err := l.packages(ctx, s)
	if err != nil {
		return nil, err
	}
	return &Broadcast{shape: s, config: c, tracks: buildTracks(s, parts)}, nil
}

// start returns the wall time of the recording's first frame. The first call begins the
// broadcast.
func (b *Broadcast) start() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started.IsZero() {
		// To the millisecond, because that is what a playlist can say.
		b.started = time.Now().Add(-b.config.Preroll).Truncate(time.Millisecond)
	}
	return b.started
}

// At returns the wall time of an instant of the recording, such as one of [Program]. It
// begins a broadcast that nobody has requested yet.
func (b *Broadcast) At(instant time.Duration) time.Time {
	if b.shape.Reconnect > 0 && instant >= b.shape.Reconnect {
		instant += b.shape.ReconnectGap
	}
	return b.start().Add(instant)
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
func (b *Broadcast) elapsed() time.Duration { return time.Since(b.start()) }

// ended reports whether the whole recording is published.
func (b *Broadcast) ended() bool {
	for _, t := range b.tracks {
		if t.published(b.elapsed()) < len(t.segments) {
			return false
		}
	}
	return true
}
