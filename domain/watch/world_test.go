package watch_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
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

// world is a stream on virtual time and the watcher that watches it. Its
// program time is the timeline's own; a segment is published when it is over,
// plus delay. The fields say what is true when; do makes it happen.
type world struct {
	t     *testing.T
	rules watch.Rules

	segment  float64 // duration of a segment
	windowed float64 // length of the playlist's window
	delay    float64 // from a segment's end to its publication
	noPDT    bool

	live       span                       // when the stream is live by YouTube's word
	afterwards watch.StreamState          // what it is after that, default Ended
	endlist    bool                       // the playlist ends with the stream
	black      []span                     // in program time
	silent     []span                     // in program time
	others     map[detector.Name][]span   // of further detectors, in program time
	frozen     []span                     // the playlist does not move
	noList     []span                     // the playlist fails
	noSegment  []span                     // segments fail
	spoilt     func(sequence uint64) bool // these segments fail
	failure    watch.FailureKind
	mute       []span // questions get no answer: unreachable
	missing    []span // oEmbed knows no such video
	reset      span   // program time, from .from on, is .to later
	resetIn    string // in playlists whose URL contains this
	copies     []int  // by how many segments a playlist lags behind, in turn
	says       map[span]watch.StreamState
	apart      bool                       // picture and sound have playlists of their own
	qualities  []int                      // heights of the renditions; none: one of which nothing is said
	byMaster   bool                       // the renditions are listed in a master
	fails      map[string][]span          // playlists whose URL contains this fail
	spoils     map[string][]span          // segments whose URL contains this fail
	stands     map[string][]span          // playlists whose URL contains this do not move
	ends       map[string]span            // playlists whose URL contains this say ENDLIST
	answer     func(*watch.Resolution)    // changes what resolving finds
	took       map[watch.TaskKind]float64 // how long a task takes

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

	mortal bool   // what is reported is kept, to die
	away   []span // when no report is accepted
	kept   []byte // snapshot of the last report that was
	keptOf int    // events that were accepted with it and before
	keptAt float64
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
		segment: 2, windowed: 30, live: span{0, never}, afterwards: watch.Ended,
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

// resume lets a successor go on from a snapshot, after a pause in which nobody
// watched.
func (w *world) resume(pause float64) *world {
	w.t.Helper()
	w.kept, w.keptOf = w.snapshot(), len(w.events)
	return w.die(pause)
}

// until lets time pass.
func (w *world) until(end float64) *world {
	w.t.Helper()
	if w.watcher == nil {
		w.from(0)
	}
	for steps := 0; w.once(end); steps++ {
		if steps > 200_000 {
			w.t.Fatalf("the watcher is busy without end at second %v", w.now)
		}
	}
	return w
}

// once lets time pass until the watcher has made one step; false: it made none
// by end.
func (w *world) once(end float64) bool {
	w.t.Helper()
	for {
		next, wake := w.begin()
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

// begin begins what is due and gives the next moment at which something is.
func (w *world) begin() (next float64, wake bool) {
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
	if w.mortal && (len(effects) > 0 || w.now-w.keptAt >= 10) && !within(w.away, w.now) {
		w.kept, w.keptOf, w.keptAt = w.snapshot(), len(w.events), w.now
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

// die ends the watcher without a word. After a pause a successor goes on from
// the last report that was accepted; what was not is forgotten.
func (w *world) die(pause float64) *world {
	w.t.Helper()
	w.events = w.events[:w.keptOf]
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

// observe is the truth about what a task asks for.
func (w *world) observe(task watch.Task, began, done float64) watch.Observation {
	switch task.Kind {
	case watch.TaskResolve:
		r := w.resolve(began)
		if w.answer != nil {
			w.answer(&r)
		}
		return r
	case watch.TaskProbe:
		gone := within(w.missing, began)
		return watch.ProbeResult{Began: at(began), Known: gone || !within(w.mute, began), Exists: !gone, Detail: "404"}
	case watch.TaskPlaylist:
		return w.playlist(task.URL, began)
	case watch.TaskSegment:
		return w.analysis(task.Segment, began)
	}
	w.t.Fatalf("no such task: %v", task)
	return nil
}

func (w *world) resolve(began float64) watch.Resolution {
	r := watch.Resolution{Began: at(began), Source: "world"}
	for s, state := range w.says {
		if s.has(began) {
			r.State, r.Detail = state, "as the scenario says"
			if state == watch.Live {
				w.locate(&r)
			}
			return r
		}
	}
	switch {
	case within(w.mute, began):
		r.State, r.Detail = watch.Unreachable, "no answer"
	case began < w.live.from:
		r.State = watch.Upcoming
	case began >= w.live.to:
		r.State = w.afterwards
	default:
		r.State, r.ActualStart = watch.Live, at(w.live.from)
		w.locate(&r)
	}
	return r
}

// locate says where the media are.
func (w *world) locate(r *watch.Resolution) {
	r.Manifest = w.manifest()
	list := w.list(r.Manifest)
	switch {
	case list != nil && w.byMaster:
		r.Manifest = strings.TrimSuffix(r.Manifest, "/list.m3u8") + "/master/list.m3u8"
	case list != nil:
		r.Manifest, r.Renditions = "", list
	}
}

// list is the renditions of a manifest.
func (w *world) list(manifest string) (all []watch.Rendition) {
	under := func(name string) string { return strings.TrimSuffix(manifest, "/list.m3u8") + name + "/list.m3u8" }
	if w.apart {
		return []watch.Rendition{{URL: under("/picture"), HasVideo: true}, {URL: under("/sound"), HasAudio: true}}
	}
	for _, height := range w.qualities {
		all = append(all, watch.Rendition{URL: under(fmt.Sprintf("/%dp", height)), Height: height, HasVideo: true, HasAudio: true})
	}
	return all
}

// of finds what is said of a URL by a part of it.
func of[T any](said map[string]T, url string) (found T) {
	for part, what := range said {
		if strings.Contains(url, part) {
			found = what
		}
	}
	return found
}

func (w *world) manifest() string {
	w.issue++
	return fmt.Sprintf("https://media.test/%d/list.m3u8", w.issue)
}

func (w *world) playlist(url string, began float64) watch.Playlist {
	w.urls[url] = true
	p := watch.Playlist{Began: at(began), URL: url, TargetDuration: time.Duration(w.segment * float64(time.Second))}
	if within(w.noList, began) || within(of(w.fails, url), began) {
		p.Failure = watch.NewFailure(w.failure, "no playlist")
		return p
	}
	if base, ok := strings.CutSuffix(url, "/master/list.m3u8"); ok {
		p.Renditions = w.list(base + "/list.m3u8")
		return p
	}
	edge := began
	for _, f := range append(slices.Clone(of(w.stands, url)), w.frozen...) {
		if f.has(began) {
			edge = f.from
		}
	}
	edge = min(edge, w.live.to+w.delay)
	newest := int((edge - w.delay) / w.segment) // exclusive
	if n := len(w.copies); n > 0 {
		newest -= w.copies[w.reading%n]
		w.reading++
	}
	for n := max(newest-int(w.windowed/w.segment), int(w.live.from/w.segment)); n < newest; n++ {
		start := float64(n) * w.segment
		s := watch.Segment{
			URI:      fmt.Sprintf("%s/%d.ts", strings.TrimSuffix(url, "/list.m3u8"), n),
			Sequence: uint64(n),
			Duration: time.Duration(w.segment * float64(time.Second)),
		}
		if !w.noPDT {
			s.ProgramTime = at(start)
			if w.reset.to != 0 && start >= w.reset.from && strings.Contains(url, w.resetIn) {
				s.ProgramTime = at(start + w.reset.to)
			}
		}
		p.Segments = append(p.Segments, s)
	}
	p.Ended = w.endlist && began >= w.live.to+w.delay
	p.Ended = p.Ended || of(w.ends, url).has(began)
	if len(p.Segments) == 0 && !p.Ended {
		p.Failure = watch.NewFailure(watch.FailureMalformed, "nothing yet")
	}
	return p
}

func (w *world) analysis(s watch.Segment, began float64) watch.Analysis {
	a := watch.Analysis{Began: at(began), Segment: s.ID()}
	if within(w.noSegment, began) || within(of(w.spoils, s.URI), began) || w.spoilt != nil && w.spoilt(s.Sequence) {
		a.Failure = watch.NewFailure(w.failure, "no segment")
		return a
	}
	start := float64(s.Sequence) * w.segment
	a.Intervals = map[detector.Name][]watch.Interval{}
	found := func(d detector.Name, bad []span) {
		for _, b := range bad {
			from, to := max(b.from, start)-start, min(b.to, start+w.segment)-start
			if to > from {
				a.Intervals[d] = append(a.Intervals[d], watch.Interval{From: time.Duration(from * float64(time.Second)), To: time.Duration(to * float64(time.Second))})
			}
		}
	}
	if !strings.Contains(s.URI, "/sound/") {
		a.Video = watch.Track{Present: true, To: s.Duration}
		found(detector.Blackout, w.black)
		for name, bad := range w.others {
			found(name, bad)
		}
	}
	if !strings.Contains(s.URI, "/picture/") {
		a.Audio = watch.Track{Present: true, To: s.Duration}
		found(detector.Silence, w.silent)
	}
	return a
}
