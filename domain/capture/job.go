package capture

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The limits of a capture.
const (
	Before      = 30 * time.Second // media before the instant
	After       = 30 * time.Second // media after the instant
	LastMinute  = time.Minute      // sound levels before the instant
	MaxHeight   = 720              // lines of the rendition that pictures are taken from, if there is one
	MaxSegments = 60               // segments of a track

	suspectAfter = 3 * time.Second  // how long a condition lasts before its media are collected
	collectEvery = 10 * time.Second // of new media between two collections
	completeWait = 90 * time.Second // after the alert or the recovery, if the media do not go on
	remembered   = 90 * time.Second // media that are remembered after they have left the playlist
)

// Step says what a Job does.
type Step string

// The steps.
const (
	Collect  Step = "collect"  // gather the media and take the pictures; store nothing yet
	Report   Step = "report"   // the same, and store the pictures as evidence of EventID
	Complete Step = "complete" // the same, and store sound levels and clip; nothing follows
	Discard  Step = "discard"  // forget what was collected
)

// Job is one step of the capture of one event. The jobs of a capture have the same Key.
// A Collect with another Key replaces what was collected for the same condition before.
type Job struct {
	Key       string // the condition, the phase and the onset
	Step      Step
	Condition trouble.Name
	Phase     evidence.Phase
	EventID   string    // of the alert or recovery; "": not alerted yet
	Instant   time.Time // the onset or the recovery, on the media timeline
	Pictures  []Picture
	Tracks    []Track         // media around the instant, as far as they are known
	Fetch     bool            // of Tracks, also fetch the segments that analysis did not
	SilenceDB float64         // the level below which sound counts as silence, in dBFS
	Extra     watch.Rendition // with better pictures than Tracks; without a URL: there is none
	Note      string          // why the pictures do not show the condition, in one line; "": they do

	// The sound levels to show, and those that the checks have measured. Only a Complete
	// has them.
	LevelsFrom, LevelsTo time.Time
	Levels               []Level
}

// Picture is one picture to be taken.
type Picture struct {
	Variant evidence.Variant
	At      time.Time // on the media timeline

	// Segment is that of another rendition, from which the picture is taken, and Height the lines of that one; nil: it
	// is taken from Extra or Tracks.
	Segment *watch.Segment
	Height  int
}

// Track is the media of one watched playlist.
type Track struct {
	Video, Audio bool
	Height       int             // lines of the picture; 0: unknown
	Segments     []watch.Segment // consecutive, oldest first
}

// The times of pictures, from the instant. A picture just before it may already fade.
const (
	beforeOnset   = -time.Second
	afterOnset    = 300 * time.Millisecond
	afterRecovery = 500 * time.Millisecond
)

func picturesOf(phase evidence.Phase, instant time.Time) []Picture {
	if phase == evidence.RecoveryPhase {
		return []Picture{{Variant: evidence.Recovery, At: instant.Add(afterRecovery)}}
	}
	return []Picture{{Variant: evidence.Before, At: instant.Add(beforeOnset)}, {Variant: evidence.Onset, At: instant.Add(afterOnset)}}
}
