package watch_test

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// option describes a part of a world.
type option = func(*world)

// spans are the times from the first second to the second one, from the third to the fourth, and
// so on.
func spans(seconds []float64) (all []span) {
	for i := 0; i < len(seconds); i += 2 {
		all = append(all, span{seconds[i], seconds[i+1]})
	}
	return all
}

func black(s ...float64) option      { return func(w *world) { w.black = spans(s) } }
func silent(s ...float64) option     { return func(w *world) { w.silent = spans(s) } }
func stalls(s ...float64) option     { return func(w *world) { w.stalls = spans(s) } }
func noPlaylist(s ...float64) option { return func(w *world) { w.playlistFails = spans(s) } }
func noSegment(s ...float64) option  { return func(w *world) { w.segmentsFail = spans(s) } }
func unanswered(s ...float64) option { return func(w *world) { w.unanswered = spans(s) } }
func refused(s ...float64) option    { return func(w *world) { w.refused = spans(s) } }

// unobservable lets questions and playlists fail.
func unobservable(s ...float64) option {
	return func(w *world) { w.playlistFails, w.unanswered = spans(s), spans(s) }
}

// noPlaylistIn lets the readings of the playlists fail whose URL contains a part.
func noPlaylistIn(part string, s ...float64) option {
	return func(w *world) { w.playlistFailsIn[part] = spans(s) }
}

// noSegmentIn lets the analyses of the segments fail whose URL contains a part.
func noSegmentIn(part string, s ...float64) option {
	return func(w *world) { w.segmentsFailIn[part] = spans(s) }
}

// stallsIn lets the playlists stand whose URL contains a part.
func stallsIn(part string, s ...float64) option {
	return func(w *world) { w.stallsIn[part] = spans(s) }
}

// blackIn makes the segments black whose URL contains a part.
func blackIn(part string, s ...float64) option {
	return func(w *world) { w.blackIn[part] = spans(s) }
}

// goneAt leaves the rendition of a height out of the lists.
func goneAt(height int, s ...float64) option {
	return func(w *world) { w.gone[height] = spans(s) }
}

// endlistIn puts ENDLIST into the playlists whose URL contains a part.
func endlistIn(part string, from, to float64) option {
	return func(w *world) { w.endlistIn[part] = span{from, to} }
}

// restarts end the watcher at the first second; its successor begins at the second one; and so on.
func restarts(s ...float64) option { return func(w *world) { w.cuts = spans(s) } }

// says is YouTube's answer for a time.
func says(state watch.StreamState, from, to float64) option {
	return func(w *world) { w.answers[span{from, to}] = state }
}

// apiSays is the answer of the official API for a time.
func apiSays(status monitor.StreamStatus, from, to float64) option {
	return func(w *world) { w.official = append(w.official, officialAnswer{span{from, to}, status}) }
}

// ownerSees is what the owner is told for a time: whether no data arrive.
func ownerSees(noData bool, from, to float64) option {
	return func(w *world) { w.owner = append(w.owner, ownerAnswer{span{from, to}, noData}) }
}

func failing(as watch.FailureKind) option { return func(w *world) { w.failure = as } }

// checksEvery is the check interval.
func checksEvery(n int) option {
	return func(w *world) { w.rules.CheckInterval = seconds(n) }
}

func threshold(name detector.Name, n int) option {
	return func(w *world) { w.rules.Thresholds[name] = seconds(n) }
}

// takes is how many seconds a kind of task takes.
func takes(kind watch.TaskKind, sec float64) option {
	return func(w *world) { w.taskTime[kind] = sec }
}

// withTaskTimes gives each kind of task a usual duration.
func withTaskTimes(w *world) {
	w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskPlaylist], w.taskTime[watch.TaskSegment] = 3, 0.1, 0.3
}

// segmentsOf is the length of segments.
func segmentsOf(sec float64) option { return func(w *world) { w.segment = sec } }

// failsSegments lets the analyses of these segments fail.
func failsSegments(fails func(sequence uint64) bool) option {
	return func(w *world) { w.failsSegment = fails }
}

func noSound(w *world) { w.noSound = true }

func noProgramTime(w *world) { w.noProgramTime = true }

// apart gives picture and sound a playlist each.
func apart(w *world) { w.separateTracks = true }

// renditions are the heights of a stream's renditions, which a master playlist lists or the answer.
func renditions(heights ...int) option { return func(w *world) { w.heights = heights } }

func liveFrom(sec float64) option { return func(w *world) { w.live.from = sec } }

// endsAt ends the stream, with ENDLIST or without it.
func endsAt(sec float64, endlist bool) option {
	return func(w *world) { w.live.to, w.endlist = sec, endlist }
}

func scheduled(start float64) option {
	return func(w *world) { w.rules.ScheduledStart = at(start) }
}

// lastingFor lets the URLs of every answer work that long, without saying so.
func lastingFor(d time.Duration) option {
	return func(w *world) {
		w.changeAnswer = func(r *watch.Resolution) { r.Lifetime = d }
	}
}

// expiringAfter lets the URLs of every answer expire that long after the question.
func expiringAfter(d time.Duration) option {
	return func(w *world) {
		w.changeAnswer = func(r *watch.Resolution) { r.Expires = r.Began.Add(d) }
	}
}
