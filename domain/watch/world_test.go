package watch_test

import (
	"math"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// epoch is second 0 of every timeline.
var epoch = time.Date(2026, 1, 15, 20, 0, 0, 0, time.UTC)

// at is a moment of the timeline, in seconds.
func at(sec float64) time.Time {
	return epoch.Add(time.Duration(math.Round(sec * float64(time.Second))))
}

// sec is the inverse of at.
func sec(t time.Time) float64 { return t.Sub(epoch).Seconds() }

// span is a part of the timeline, in seconds.
type span struct{ from, to float64 }

func (s span) has(x float64) bool { return x >= s.from && x < s.to }

func within(all []span, x float64) bool {
	for _, s := range all {
		if s.has(x) {
			return true
		}
	}
	return false
}

const never = 1e9

// world is a stream in virtual time and its watcher. Program time is the second
// of the timeline; a segment is published delay after its end. The first fields
// say what happens when; until lets it happen.
type world struct {
	t     *testing.T
	rules watch.Rules

	segment float64 // duration of a segment
	window  float64 // length of the playlist's window
	delay   float64 // from a segment's end to its publication
	noPDT   bool

	live          span                       // when the stream is live by YouTube's word
	afterwards    watch.StreamState          // what it is after that, default Ended
	endlist       bool                       // the playlist ends with the stream
	black         []span                     // in program time
	silent        []span                     // in program time
	others        map[detector.Name][]span   // of further detectors, in program time
	frozen        []span                     // the playlist does not move
	noPlaylist    []span                     // the playlist fails
	noSegment     []span                     // segments fail
	failing       func(sequence uint64) bool // these segments fail
	failure       watch.FailureKind
	noAnswer      []span // questions get no answer: unreachable
	missing       []span // oEmbed knows no such video
	reset         span   // program time, from .from on, is .to later
	resetIn       string // in playlists whose URL contains this
	copies        []int  // by how many segments a playlist lags behind, in turn
	says          map[span]watch.StreamState
	apart         bool                       // picture and sound have playlists of their own
	qualities     []int                      // heights of the renditions; none: one of which nothing is said
	byMaster      bool                       // the renditions are listed in a master
	fails         map[string][]span          // playlists whose URL contains this fail
	failsSegments map[string][]span          // segments whose URL contains this fail
	stands        map[string][]span          // playlists whose URL contains this do not move
	ends          map[string]span            // playlists whose URL contains this say ENDLIST
	answer        func(*watch.Resolution)    // changes what resolving finds
	took          map[watch.TaskKind]float64 // how long a task takes

	watcher  *watch.Watcher
	now      float64
	issue    int // of manifests: each resolution gives another URL
	reading  int // of playlists: each is of another copy
	urls     map[string]bool
	pending  []outcome
	events   []seenEvent
	asked    map[watch.TaskKind][]float64
	analysed []float64 // when a segment was analysed
	notes    []string
	log      []watch.LogEntry
	over     bool

	keepsReports bool   // reports are kept for a restart
	away         []span // when no report is accepted
	kept         []byte // snapshot of the last report that was
	keptEvents   int    // events that were accepted with it and before
	keptAt       float64
}

type outcome struct {
	lane watch.Lane
	at   float64
	obs  watch.Observation
}

type seenEvent struct {
	at float64
	event.Event
}

func rules() watch.Rules {
	return watch.RulesOf(monitor.DefaultConfig(), watch.Smallest)
}

// scenario is a stream that is live from second 0 on and in order.
func scenario(t *testing.T, change ...func(*world)) *world {
	t.Helper()
	w := &world{
		t: t, rules: rules(),
		segment: 2, window: 30, live: span{0, never}, afterwards: watch.Ended,
		failure: watch.FailureNetwork,
		asked:   map[watch.TaskKind][]float64{},
		urls:    map[string]bool{},
		took:    map[watch.TaskKind]float64{},
	}
	for _, c := range change {
		c(w)
	}
	return w
}

// from starts the watcher at a moment of the timeline.
func (w *world) from(sec float64) *world {
	w.now = sec
	w.watcher = watch.New(w.rules, at(sec))
	return w
}

// found lets the fallback find a manifest now.
func (w *world) found() *world {
	w.t.Helper()
	w.step(watch.Resolution{Began: at(w.now), State: watch.ManifestFound, Manifest: w.manifest()})
	return w
}

// resume lets a successor go on from a snapshot of now, after a pause.
func (w *world) resume(pause float64) *world {
	w.t.Helper()
	w.kept, w.keptEvents = w.snapshot(), len(w.events)
	return w.restart(pause)
}

// until lets time pass.
func (w *world) until(end float64) *world {
	w.t.Helper()
	if w.watcher == nil {
		w.from(0)
	}
	for steps := 0; w.advance(end); steps++ {
		if steps > 200_000 {
			w.t.Fatalf("the watcher is busy without end at second %v", w.now)
		}
	}
	return w
}

// advance lets time pass until the watcher has made one step. It reports whether
// there was one by end.
func (w *world) advance(end float64) bool {
	w.t.Helper()
	for {
		next, wake := w.startTasks()
		moment := next
		which := -1
		for i, p := range w.pending {
			if p.at <= moment {
				moment, which = p.at, i
			}
		}
		if moment > end || (len(w.pending) == 0 && w.over) {
			w.now = end
			return false
		}
		w.now = max(w.now, moment)
		switch {
		case which >= 0:
			o := w.pending[which]
			w.pending = append(w.pending[:which], w.pending[which+1:]...)
			w.step(o.obs)
			return true
		case wake:
			w.step(watch.Tick{})
			return true
		}
	}
}

// startTasks starts the tasks that are due, and returns when the next one is due.
func (w *world) startTasks() (next float64, wake bool) {
	next = never
	for _, task := range w.watcher.Next() {
		lane := task.Kind.Lane()
		if lane != watch.LaneTimer && w.busy(lane) {
			continue
		}
		due := max(sec(task.At), w.now)
		if lane != watch.LaneTimer && due <= w.now {
			w.asked[task.Kind] = append(w.asked[task.Kind], w.now)
			done := w.now + w.took[task.Kind]
			w.pending = append(w.pending, outcome{lane, done, w.observe(task, w.now, done)})
			continue
		}
		if due < next {
			next, wake = due, lane == watch.LaneTimer
		}
	}
	return next, wake
}

func (w *world) busy(l watch.Lane) bool {
	for _, p := range w.pending {
		if p.lane == l {
			return true
		}
	}
	return false
}

func (w *world) step(o watch.Observation) {
	w.t.Helper()
	effects := w.watcher.Step(at(w.now), o)
	if a, ok := o.(watch.Analysis); ok && a.Failure == nil {
		w.analysed = append(w.analysed, w.now)
	}
	for _, e := range effects {
		if w.over {
			w.t.Errorf("second %v: %#v after the end", w.now, e)
		}
		switch e := e.(type) {
		case watch.EventEmitted:
			if err := e.Event.Valid(); err != nil {
				w.t.Error(err)
			}
			w.events = append(w.events, seenEvent{w.now, e.Event})
		case watch.LogEntry:
			w.notes = append(w.notes, e.Message)
			w.log = append(w.log, e)
		case watch.Finished:
			w.over = true
		}
	}
	// A worker reports whatever has an effect, and the rest every 10 s.
	if w.keepsReports && (len(effects) > 0 || w.now-w.keptAt >= 10) && !within(w.away, w.now) {
		w.kept, w.keptEvents, w.keptAt = w.snapshot(), len(w.events), w.now
	}
}

func (w *world) snapshot() []byte {
	w.t.Helper()
	snapshot, err := w.watcher.Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	return snapshot
}

// restart ends the watcher without a report. After a pause a successor goes on
// from the last report that was accepted; later events are lost.
func (w *world) restart(pause float64) *world {
	w.t.Helper()
	w.events = w.events[:w.keptEvents]
	w.now, w.pending, w.over = w.now+pause, nil, false
	var err error
	if w.watcher, err = watch.Restore(w.rules, w.kept, at(w.now)); err != nil {
		w.t.Fatal(err)
	}
	return w
}

// logged returns the entries of the log with this message.
func (w *world) logged(message string) (entries []watch.LogEntry) {
	for _, e := range w.log {
		if e.Message == message {
			entries = append(entries, e)
		}
	}
	return entries
}
