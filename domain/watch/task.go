package watch

import "time"

// Lane is one of the two places where work for a stream is done. At most one
// task is in flight in each, so a yt-dlp that hangs never delays the media
// (decision S16).
type Lane int

// The lanes, and the clock, whose tasks take no time.
const (
	Resolving Lane = iota // Resolve, Probe
	Media                 // Playlist, Segment
	Clock                 // Wake
)

// Kind says what a Task asks for.
type Kind string

// The kinds of task, each with the observation that answers it.
const (
	TaskResolve  Kind = "resolve"  // what state is the stream in, where is its manifest? → Resolution
	TaskProbe    Kind = "probe"    // does the video still exist (oEmbed, section 7.4)? → Presence
	TaskPlaylist Kind = "playlist" // read the playlist at URL → Playlist
	TaskSegment  Kind = "segment"  // fetch and analyse Segment → Analysis
	TaskWake     Kind = "wake"     // time itself decides something at At → Tick
)

// Lane tells where a task of this kind is done.
func (k Kind) Lane() Lane {
	switch k {
	case TaskResolve, TaskProbe:
		return Resolving
	case TaskPlaylist, TaskSegment:
		return Media
	}
	return Clock
}

// Task is something to find out next. A task whose time has passed is due now.
type Task struct {
	Kind    Kind
	At      time.Time // not before
	URL     string    // TaskPlaylist: what to read
	Segment Segment   // TaskSegment: what to analyse
}
