package livestream

import (
	"fmt"
	"time"
)

// Config configures a stream. Every field has a default.
type Config struct {
	Start      time.Time     // of the first frame; default now
	Preroll    time.Duration // media before Start, so that the playlist is full at once
	Segment    time.Duration // whole seconds, default 2 s
	Window     time.Duration // media listed in a playlist, default 30 s
	Renditions []Rendition   // default Muxed144p and Muxed360p
	Script     []Cue         // cues known beforehand

	Now func() time.Time // default time.Now
}

func (c *Config) applyDefaults() error {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Start.IsZero() {
		c.Start = c.Now()
	}
	if c.Segment == 0 {
		c.Segment = 2 * time.Second
	}
	if c.Window == 0 {
		c.Window = 30 * time.Second
	}
	if c.Renditions == nil {
		c.Renditions = []Rendition{Muxed144p, Muxed360p}
	}
	// Playlists state times in milliseconds.
	c.Start = c.Start.Add(-c.Preroll).Truncate(time.Millisecond)
	switch {
	case c.Segment < time.Second || c.Segment > 20*time.Second || c.Segment%time.Second != 0:
		return fmt.Errorf("livestream: segments of %v; accepted are 1 s to 20 s, whole seconds", c.Segment)
	case c.Window < c.Segment:
		return fmt.Errorf("livestream: a window of %v is shorter than one segment of %v", c.Window, c.Segment)
	case c.Preroll < 0:
		return fmt.Errorf("livestream: negative preroll")
	}
	for _, r := range c.Renditions {
		if err := r.valid(); err != nil {
			return err
		}
	}
	return nil
}
