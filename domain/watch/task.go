package watch

import "time"

// Lane is one of the two places where work for a stream is done. At most one
// task is in flight in each, so a yt-dlp that hangs never delays the media
// (decision S16).
type Lane int

// The lanes, and the clock, whose tasks take no time.
const (
	LaneResolve Lane = iota // Resolve, Probe
	LaneMedia               // Playlist, Segment
	LaneTimer               // Wake
)

// Kind says what a Task asks for.
type TaskKind string

// The kinds of task, each with the observation that answers it.
const (
	TaskResolve  TaskKind = "resolve"  // what state is the stream in, where is its manifest? → Resolution
	TaskProbe    TaskKind = "probe"    // does the video still exist (oEmbed, section 7.4)? → Presence
	TaskPlaylist TaskKind = "playlist" // read the playlist at URL → Playlist
	TaskSegment  TaskKind = "segment"  // fetch and analyse Segment → Analysis
	TaskWake     TaskKind = "wake"     // time itself decides something at At → Tick

	clockStep TaskKind = "clock_step" // in a recording only: no task asks for a ClockStep
)

// Lane tells where a task of this kind is done.
func (k TaskKind) Lane() Lane {
	switch k {
	case TaskResolve, TaskProbe:
		return LaneResolve
	case TaskPlaylist, TaskSegment:
		return LaneMedia
	}
	return LaneTimer
}

// Task is something to find out next. A task whose time has passed is due now.
type Task struct {
	Kind    TaskKind
	At      time.Time // not before
	URL     string    // TaskPlaylist: what to read
	Segment Segment   // TaskSegment: what to analyse
}
