package livestream

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// Action is something that happens to a stream.
type Action string

// The actions. Each lasts until its opposite.
const (
	Black         Action = "black"         // the picture goes black
	Picture       Action = "picture"       // and comes back
	Silence       Action = "silence"       // the sound goes
	Sound         Action = "sound"         // and comes back
	Freeze        Action = "freeze"        // the playlists stop moving; the media go on behind them
	Thaw          Action = "thaw"          // the playlists jump to the live edge
	Fail          Action = "fail"          // Cue.Part is answered with Cue.Fault
	Heal          Action = "heal"          // Cue.Part is answered properly again
	Discontinuity Action = "discontinuity" // the next segment starts a new timeline of timestamps
	End           Action = "end"           // nothing is published any more, EXT-X-ENDLIST
	Stop          Action = "stop"          // nothing is published any more, and no word about it
)

// Cue is an action at a time.
type Cue struct {
	At    time.Duration // since the stream's first frame (Preroll included)
	Do    Action
	Part  Part            // Fail and Heal
	Fault httpfault.Fault // Fail
}

// Part is a part of a stream that can fail by itself.
type Part string

// The parts.
const (
	Masters   Part = "master"
	Playlists Part = "playlist"
	Segments  Part = "segment"
)

func (c Cue) valid() error {
	switch c.Do {
	case Black, Picture, Silence, Sound, Freeze, Thaw, Discontinuity, End, Stop:
		return nil
	case Fail, Heal:
		if c.Part != Masters && c.Part != Playlists && c.Part != Segments {
			return fmt.Errorf("livestream: cue %s at %v: part %q", c.Do, c.At, c.Part)
		}
		if c.Do == Fail && c.Fault == nil {
			return fmt.Errorf("livestream: cue fail at %v without a fault", c.At)
		}
		return nil
	}
	return fmt.Errorf("livestream: cue at %v: unknown action %q", c.At, c.Do)
}
