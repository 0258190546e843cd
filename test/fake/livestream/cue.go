package livestream

import (
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// Action is something that happens to a stream.
type Action string

// The actions. Each lasts until its opposite.
const (
	Black   Action = "black"   // the picture goes black
	Picture Action = "picture" // the picture comes back
	Silence Action = "silence" // the sound stops
	Sound   Action = "sound"   // the sound comes back
	Quiet   Action = "quiet"   // the sound gets 20 dB lower
	Loud    Action = "loud"    // the sound is as loud as before

	Overload   Action = "overload"    // the sound is at full scale, and clipped
	NoOverload Action = "no_overload" // the sound comes back
	Damage     Action = "damage"      // some packets of the picture are lost, from the next segment on
	NoDamage   Action = "no_damage"   // none are, from the next segment on
	NoCaptions Action = "no_captions" // captions are padding, in renditions that have them
	Captions   Action = "captions"    // their text comes back

	Still     Action = "still"      // the picture stands still; the sound goes on
	Motion    Action = "motion"     // the picture moves again
	Bars      Action = "bars"       // colour bars, and a tone of 1 kHz
	NoBars    Action = "no_bars"    // picture and sound come back
	LeftOnly  Action = "left_only"  // the right channel is missing, in renditions with two
	BothSides Action = "both_sides" // the right channel comes back

	Freeze Action = "freeze" // the playlists stop changing; the media continue
	Thaw   Action = "thaw"   // the playlists jump to the live edge
	Fail   Action = "fail"   // requests of Cue.Part get Cue.Fault
	Heal   Action = "heal"   // requests of Cue.Part work again
	Unlist Action = "unlist" // the entry lists Cue.Itag no more
	List   Action = "list"   // the entry lists it again
	End    Action = "end"    // no more segments, and EXT-X-ENDLIST
)

// changesMedia reports whether an action changes the picture or the sound within a segment.
func (a Action) changesMedia() bool {
	switch a {
	case Damage, NoDamage, Freeze, Thaw, Fail, Heal, Unlist, List, End:
		return false
	}
	return true
}

// Cue is an action at a time.
type Cue struct {
	At    time.Duration // since the stream's first frame (Preroll included)
	Do    Action
	Itag  int             // of the only rendition to which Black, Picture, Freeze, Thaw, Fail, Heal, Unlist and List happen; 0: to all
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
