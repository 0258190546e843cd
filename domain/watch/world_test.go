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

// at converts seconds of the timeline to a time.
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

// world is a stream in virtual time and its watcher. The fields above watcher
// describe the stream by seconds of the timeline; until lets time pass. Program
// time is the second of the timeline.
type world struct {
	t     *testing.T
	rules watch.Rules

	segment       float64 // duration of a segment
	window        float64 // length of the playlist
	delay         float64 // from the end of a segment to its publication
	noProgramTime bool
	noSound       bool    // there is no track of sound
	groups        float64 // from one key frame to the next; 0: every segment begins with its only one

	live            span                       // when YouTube says that the stream is live
	afterLive       watch.StreamState          // YouTube's answer after live; default Ended
	endlist         bool                       // the playlist ends with the stream
	black           []span                     // in program time
	silent          []span                     // in program time
	otherDetectors  map[detector.Name][]span   // bad media of further detectors, in program time
	stalls          []span                     // the playlist does not move
	damaged         []span                     // a look at key frames finds damage, in program time
	everyFrame      bool                       // the analyser always decodes every frame
	playlistFails   []span                     // readings of the playlist fail
	segmentsFail    []span                     // analyses fail
	failsSegment    func(sequence uint64) bool // reports whether the analysis of this segment fails
	failure         watch.FailureKind          // of all failures
	unanswered      []span                     // questions get the answer unreachable
	questionsHang   []span                     // questions are answered just after the end
	refused         []span                     // YouTube refuses this address: questions, playlists and segments
	refusal         watch.FailureKind          // of the media in refused
	probeMissing    []span                     // probes find that the stream does not exist
	resetFrom       float64                    // from here on program time is later by resetBy
	resetBy         float64
	resetIn         string                            // only playlists whose URL contains this are reset
	refusesURI      func(uri string) bool             // reports whether the server refuses a segment under this URI
	rename          func(uri string) string           // the URI of a segment in the present reading; nil: it stays
	copyDelays      []int                             // by how many segments each server's copy of a playlist is late, in turn
	answers         map[span]watch.StreamState        // answers of YouTube
	official        []officialAnswer                  // of the official API, which is asked every 30 s
	owner           []ownerAnswer                     // what the owner is told, asked at the same times
	separateTracks  bool                              // picture and sound have a playlist each
	heights         []int                             // of the renditions; none: one rendition, of which nothing is known
	viaMaster       bool                              // a master playlist lists the renditions
	gone            map[int][]span                    // those of these heights are not listed
	texts           []span                            // times with captions in a playlist of their own; none: there is no such playlist
	blackIn         map[string][]span                 // black in segments whose URL contains the key, in program time
	playlistFailsIn map[string][]span                 // readings fail of playlists whose URL contains the key
	segmentsFailIn  map[string][]span                 // analyses fail of segments whose URL contains the key
	stallsIn        map[string][]span                 // playlists whose URL contains the key do not move
	endlistIn       map[string]span                   // playlists whose URL contains the key have ENDLIST
	changeAnswer    func(*watch.Resolution)           // changes each answer
	changePlaylist  func(*watch.Playlist)             // changes each media playlist
	changeAnalysis  func(*watch.Analysis)             // changes each analysis that succeeds
	measure         func(*watch.Analysis, watch.Task) // adds measurements to each of them
	taskTime        map[watch.TaskKind]float64        // how long a task takes
	cuts            []span                            // restarting replaces the watcher at these times

	watcher       *watch.Watcher
	now           float64
	manifestCount int // each resolution returns another URL
	readingCount  int // each reading may come from another copy
	urls          map[string]bool
	pending       []outcome
	officialAt    float64 // when the official API is asked next
	events        []seenEvent
	signals       []monitor.Signal
	begun         map[watch.TaskKind][]float64 // when tasks began
	urgencies     []watch.Urgency              // of each TaskResolve
	analysed      []float64                    // when analyses ended
	looks         []seenLook                   // of all analyses
	log           []watch.LogEntry
	over          bool

	checksRevision bool   // each change of the durable state has to advance the revision
	revision       int    // after the last step
	durable        string // the durable state after the last step
	storesReports  bool   // reports are stored for a restart
	everySnapshot  bool   // each of them has a snapshot, due or not
	reportsRefused []span // when no report is stored
	dueSnapshot    []byte // not stored yet
	storedSnapshot []byte // the newest of the stored reports
	storedEvents   int    // how many events were emitted before it
	storedAt       float64
	dueEvents      int // how many events the newest snapshot that was due knows of
	reports        int // how many were stored
	snapshots      int // how many of them had a snapshot
}

// officialAnswer is what the official API says in a time.
type officialAnswer struct {
	in     span
	status monitor.StreamStatus
}

// ownerAnswer is what the owner is told in a time.
type ownerAnswer struct {
	in     span
	noData bool
}

type outcome struct {
	lane watch.Lane
	at   float64
	obs  watch.Observation
}

// seenLook is a look at a segment.
type seenLook struct {
	began    float64
	sequence uint64
	picture  bool // of the picture, only key frames were decoded
	sound    bool // of the sound, only some frames were decoded
}

type seenEvent struct {
	at float64
	event.Event
}

func rules() watch.Rules {
	return watch.RulesOf(monitor.DefaultConfig(), watch.Smallest)
}

// scenario returns a stream that is live from second 0 on and has no fault.
func scenario(t *testing.T, set ...option) *world {
	t.Helper()
	w := &world{
		t: t, rules: rules(),
		segment: 2, window: 30, live: span{0, never}, afterLive: watch.Ended,
		failure: watch.FailureNetwork, refusal: watch.FailureRefused,
		begun:           map[watch.TaskKind][]float64{},
		urls:            map[string]bool{},
		taskTime:        map[watch.TaskKind]float64{},
		answers:         map[span]watch.StreamState{},
		playlistFailsIn: map[string][]span{}, segmentsFailIn: map[string][]span{},
		stallsIn: map[string][]span{}, endlistIn: map[string]span{}, gone: map[int][]span{}, blackIn: map[string][]span{},
	}
	for _, change := range set {
		change(w)
	}
	return w
}

// from starts the watcher at a moment of the timeline.
func (w *world) from(sec float64) *world {
	w.now, w.officialAt = sec, sec
	w.watcher = watch.New(w.rules, at(sec))
	return w
}

// findManifest lets the fallback resolver find a manifest now.
func (w *world) findManifest() *world {
	w.t.Helper()
	w.step(watch.Resolution{Began: at(w.now), State: watch.ManifestFound, Manifest: w.manifest()})
	return w
}

// resume ends the watcher with a snapshot. A successor goes on from it after a pause.
func (w *world) resume(pause float64) *world {
	w.t.Helper()
	w.storedSnapshot, w.storedEvents = w.snapshot(), len(w.events)
	return w.restart(pause)
}

// restarting lets time pass, with the restarts of the scenario.
func (w *world) restarting(end float64) *world {
	w.t.Helper()
	for _, cut := range w.cuts {
		w.until(cut.from).resume(cut.to - cut.from)
	}
	return w.until(end)
}

// until lets time pass.
func (w *world) until(end float64) *world {
	w.t.Helper()
	if w.watcher == nil {
		w.from(0)
	}
	for steps := 0; w.advance(end); steps++ {
		if steps > 200_000 {
			w.t.Fatalf("the watcher makes steps without end at second %v", w.now)
		}
	}
	return w
}

// advance lets time pass until the watcher has made one step. It reports whether
// there was one by end.
func (w *world) advance(end float64) bool {
	w.t.Helper()
	for {
		w.askOfficial()
		next, wake := w.startTasks()
		moment := next
		which := -1
		if len(w.official)+len(w.owner) > 0 && !w.over && w.officialAt < moment {
			moment, wake = w.officialAt, false
		}
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

// startTasks starts the tasks that are due. It returns when the next one is due.
func (w *world) startTasks() (next float64, wake bool) {
	next = never
	for _, task := range w.watcher.Next() {
		lane := task.Kind.Lane()
		if lane != watch.LaneTimer && w.busy(lane) {
			continue
		}
		due := max(sec(task.At), w.now)
		if lane != watch.LaneTimer && due <= w.now {
			w.begun[task.Kind] = append(w.begun[task.Kind], w.now)
			if task.Kind == watch.TaskResolve {
				w.urgencies = append(w.urgencies, task.Urgency)
			}
			done := w.now + w.taskTime[task.Kind]
			for _, s := range w.questionsHang {
				if task.Kind == watch.TaskResolve && s.has(w.now) {
					done = max(done, s.to+0.5)
				}
			}
			w.pending = append(w.pending, outcome{lane, done, w.observe(task, w.now, done)})
			continue
		}
		if due < next {
			next, wake = due, lane == watch.LaneTimer
		}
	}
	return next, wake
}

// askOfficial asks the official API every 30 s. The watcher learns the answer 5 s later, from the answer to a report.
func (w *world) askOfficial() {
	for ; len(w.official)+len(w.owner) > 0 && w.officialAt <= w.now; w.officialAt += 30 {
		for _, a := range w.official {
			if a.in.has(w.officialAt) {
				w.pending = append(w.pending, outcome{noLane, w.officialAt + 5, watch.OfficialState{Status: a.status, AskedAt: at(w.officialAt)}})
				break
			}
		}
		for _, a := range w.owner {
			if a.in.has(w.officialAt) {
				w.pending = append(w.pending, outcome{noLane, w.officialAt + 5, watch.IngestState{NoData: a.noData, AskedAt: at(w.officialAt)}})
				break
			}
		}
	}
}

// noLane is that of what no task has asked for.
const noLane watch.Lane = -1

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
		case watch.SignalEmitted:
			if err := e.Signal.Valid(); err != nil {
				w.t.Error(err)
			}
			w.signals = append(w.signals, e.Signal)
		case watch.LogEntry:
			w.log = append(w.log, e)
		case watch.Finished:
			w.over = true
		}
	}
	if w.checksRevision {
		w.checkRevision(o)
	}
	if w.storesReports {
		w.storeReport(len(effects) > 0)
	}
}

// storeReport stores a report as a worker sends it: at once after a step with effects, and
// otherwise every 10 s. A report has a snapshot if one is due.
func (w *world) storeReport(atOnce bool) {
	w.t.Helper()
	due, err := w.watcher.SnapshotIfDue()
	if err != nil {
		w.t.Fatal(err)
	}
	if w.everySnapshot {
		due = w.snapshot()
	}
	if due != nil {
		w.dueSnapshot, w.dueEvents = due, len(w.events)
	}
	if len(w.events) > w.dueEvents {
		w.t.Errorf("second %v: an event without a snapshot that knows of it", w.now)
	}
	if !atOnce && w.now-w.storedAt < 10 || within(w.reportsRefused, w.now) {
		return
	}
	w.storedEvents, w.storedAt, w.reports = len(w.events), w.now, w.reports+1
	if w.dueSnapshot != nil {
		w.storedSnapshot, w.dueSnapshot, w.snapshots = w.dueSnapshot, nil, w.snapshots+1
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
	w.events, w.dueEvents, w.dueSnapshot = w.events[:w.storedEvents], w.storedEvents, nil
	w.now, w.pending, w.over = w.now+pause, nil, false
	var err error
	if w.watcher, err = watch.Restore(w.rules, w.storedSnapshot, at(w.now)); err != nil {
		w.t.Fatal(err)
	}
	return w
}
