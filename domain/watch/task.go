package watch

import "time"

// Lane is a place where the tasks of a stream are done, one at a time. With two
// of them a yt-dlp that hangs never delays the media (decision S16).
type Lane int

// The lanes, and the timer, whose tasks take no time.
const (
	LaneResolve Lane = iota // TaskResolve, TaskProbe
	LaneMedia               // TaskPlaylist, TaskSegment
	LaneTimer               // TaskWake
)

// TaskKind says what a Task asks for.
type TaskKind string

// The kinds of task, each with the observation that answers it.
const (
	TaskResolve  TaskKind = "resolve"  // the stream's state and its manifest → Resolution
	TaskProbe    TaskKind = "probe"    // whether the video exists, by oEmbed (section 7.4) → ProbeResult
	TaskPlaylist TaskKind = "playlist" // the playlist at URL → Playlist
	TaskSegment  TaskKind = "segment"  // the analysis of Segment → Analysis
	TaskWake     TaskKind = "wake"     // nothing but time to pass → Tick

	clockStep TaskKind = "clock_step" // of an observation that answers no task: ClockStep
)

// Lane returns where a task of this kind is done.
func (k TaskKind) Lane() Lane {
	switch k {
	case TaskResolve, TaskProbe:
		return LaneResolve
	case TaskPlaylist, TaskSegment:
		return LaneMedia
	}
	return LaneTimer
}

// Task is something to find out. A task whose time has passed is due now.
type Task struct {
	Kind    TaskKind
	At      time.Time // not before
	URL     string    // TaskPlaylist: to be read
	Segment Segment   // TaskSegment: to be analysed
}

// Next returns what to find out next, at most one task for each lane. Begin
// only tasks of idle lanes, and call Next again after each Step.
func (w *Watcher) Next() []Task {
	if w.state.Over {
		return nil
	}
	tasks := []Task{w.nextResolve()}
	if t, ok := w.nextMedia(); ok {
		tasks = append(tasks, t)
	}
	if at := w.wakeAt(); !at.IsZero() {
		tasks = append(tasks, Task{Kind: TaskWake, At: at})
	}
	return tasks
}

// nextResolve is the task of the resolve lane. It is due by the cadence, when the
// manifest has expired, and at every moment at which the answer decides
// something, unless the question was put since.
func (w *Watcher) nextResolve() Task {
	r := w.state.Resolve
	if r.Probe {
		return Task{Kind: TaskProbe, At: w.now}
	}
	at := earliest(r.Next, r.RenewAt)
	moments := []time.Time{w.state.Blind.dueAt(), w.expiresAt()}
	for _, f := range w.state.Feeds {
		moments = append(moments, f.Outage.questionAt(), f.searchAt())
	}
	for _, moment := range moments {
		if r.Began.Before(moment) {
			at = earliest(at, moment)
		}
	}
	return Task{Kind: TaskResolve, At: at}
}

// nextMedia is the task of the media lane. Of two feeds with a due task the one
// whose playlist was read longer ago is first, so that a slow feed never starves
// the other.
func (w *Watcher) nextMedia() (next Task, ok bool) {
	if url := w.state.Manifest.PendingURL; url != "" {
		return Task{Kind: TaskPlaylist, At: w.now, URL: url}, true
	}
	var chosen *feed
	for _, f := range w.state.Feeds {
		if f.URL == "" {
			continue
		}
		t := Task{Kind: TaskPlaylist, At: w.readAt(f), URL: f.URL}
		if f.pending != nil {
			t = Task{Kind: TaskSegment, At: w.now, Segment: *f.pending}
		}
		first := !ok || t.At.Before(next.At)
		if ok && !t.At.After(w.now) && !next.At.After(w.now) {
			first = f.LastReadAt.Before(chosen.LastReadAt)
		}
		if first {
			next, chosen, ok = t, f, true
		}
	}
	return next, ok
}
