package watch_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// observe returns the observation that answers a task.
func (w *world) observe(task watch.Task, began, done float64) watch.Observation {
	switch task.Kind {
	case watch.TaskResolve:
		r := w.resolve(began)
		if w.changeAnswer != nil {
			w.changeAnswer(&r)
		}
		return r
	case watch.TaskProbe:
		gone := within(w.probeMissing, began)
		return watch.ProbeResult{Began: at(began), Known: gone || !within(w.unanswered, began), Exists: !gone, Detail: "404"}
	case watch.TaskPlaylist:
		return w.playlist(task.URL, began)
	case watch.TaskRendition:
		return w.renditionLook(task, began)
	case watch.TaskSegment:
		a := w.analysis(task.Segment, began)
		if a.Failure == nil && !w.everyFrame {
			w.screenPicture(&a, task)
			w.screenSound(&a, task)
		}
		if a.Failure == nil && w.measure != nil {
			w.measure(&a, task)
		}
		w.looks = append(w.looks, seenLook{began, task.Segment.Sequence, a.Video.Screened, a.Audio.Screened})
		return a
	}
	w.t.Fatalf("no such task: %v", task)
	return nil
}

// renditionLook looks at another rendition than the watched one.
func (w *world) renditionLook(task watch.Task, began float64) watch.RenditionLook {
	look := watch.RenditionLook{Playlist: w.playlist(task.URL, began), Text: task.Look.Text}
	if n := len(look.Playlist.Segments); n > 0 {
		a := w.analysis(look.Playlist.Segments[n-1], began)
		look.Analysis = &a
	}
	return look
}

func (w *world) resolve(began float64) watch.Resolution {
	r := watch.Resolution{Began: at(began), Source: "world"}
	for s, state := range w.answers {
		if s.has(began) {
			r.State, r.Detail = state, "as the scenario says"
			if state == watch.Live {
				w.locate(&r)
			}
			return r
		}
	}
	switch {
	case within(w.refused, began):
		r.State, r.Detail = watch.Blocked, "Sign in to confirm you're not a bot"
	case within(w.unanswered, began):
		r.State, r.Detail = watch.Unreachable, "no answer"
	case began < w.live.from:
		r.State = watch.Upcoming
	case began >= w.live.to:
		r.State = w.afterLive
	default:
		r.State, r.ActualStart = watch.Live, at(w.live.from)
		w.locate(&r)
	}
	return r
}

// locate adds the URLs of the media to an answer.
func (w *world) locate(r *watch.Resolution) {
	r.Manifest = w.manifest()
	list := w.list(r.Manifest)
	switch {
	case list != nil && w.viaMaster:
		r.Manifest = strings.TrimSuffix(r.Manifest, "/list.m3u8") + "/master/list.m3u8"
	case list != nil:
		r.Manifest, r.Renditions = "", list
	}
}

// list returns the renditions of a manifest; nil: it is a media playlist.
func (w *world) list(manifest string) (all []watch.Rendition) {
	under := func(name string) string { return strings.TrimSuffix(manifest, "/list.m3u8") + name + "/list.m3u8" }
	if w.separateTracks {
		return []watch.Rendition{{URL: under("/picture"), HasVideo: true}, {URL: under("/sound"), HasAudio: true}}
	}
	if w.texts != nil {
		all = append(all, watch.Rendition{URL: under("/text"), HasCaptions: true}, watch.Rendition{URL: under("/media"), HasVideo: true, HasAudio: true})
	}
	for _, height := range w.heights {
		if within(w.gone[height], w.now) {
			continue
		}
		all = append(all, watch.Rendition{URL: under(fmt.Sprintf("/%dp", height)), Height: height, HasVideo: true, HasAudio: true})
	}
	return all
}

// byURL returns the entry whose key is a part of the URL.
func byURL[T any](entries map[string]T, url string) (found T) {
	for part, entry := range entries {
		if strings.Contains(url, part) {
			found = entry
		}
	}
	return found
}

func (w *world) manifest() string {
	w.manifestCount++
	return fmt.Sprintf("https://media.test/%d/list.m3u8", w.manifestCount)
}

func (w *world) playlist(url string, began float64) watch.Playlist {
	w.urls[url] = true
	p := watch.Playlist{Began: at(began), URL: url, TargetDuration: time.Duration(w.segment * float64(time.Second))}
	if within(w.refused, began) {
		p.Failure = watch.NewFailure(w.refusal, "media.test: answered 403")
		return p
	}
	if within(w.playlistFails, began) || within(byURL(w.playlistFailsIn, url), began) {
		p.Failure = watch.NewFailure(w.failure, "no playlist")
		return p
	}
	if base, ok := strings.CutSuffix(url, "/master/list.m3u8"); ok {
		p.Renditions = w.list(base + "/list.m3u8")
		return p
	}
	edge := began
	for _, f := range append(slices.Clone(byURL(w.stallsIn, url)), w.stalls...) {
		if f.has(began) {
			edge = f.from
		}
	}
	edge = min(edge, w.live.to+w.delay)
	newest := int((edge - w.delay) / w.segment) // exclusive
	first := int(w.live.from / w.segment)
	if n := len(w.copyDelays); n > 0 {
		newest = min(newest, max(first+2, newest-w.copyDelays[w.readingCount%n])) // a copy has two segments at least
	}
	w.readingCount++
	for n := max(newest-int(w.window/w.segment), first); n < newest; n++ {
		start := float64(n) * w.segment
		s := watch.Segment{
			URI:      fmt.Sprintf("%s/%d.ts", strings.TrimSuffix(url, "/list.m3u8"), n),
			Sequence: uint64(n),
			Duration: time.Duration(w.segment * float64(time.Second)),
		}
		if w.rename != nil && n > 0 { // the number 0 is no number
			s.URI = w.rename(s.URI)
		}
		if !w.noProgramTime {
			s.ProgramTime = at(start)
			if w.resetBy != 0 && start >= w.resetFrom && strings.Contains(url, w.resetIn) {
				s.ProgramTime = at(start + w.resetBy)
			}
		}
		p.Segments = append(p.Segments, s)
	}
	p.Ended = w.endlist && began >= w.live.to+w.delay
	p.Ended = p.Ended || byURL(w.endlistIn, url).has(began)
	if len(p.Segments) == 0 && !p.Ended {
		p.Failure = watch.NewFailure(watch.FailureMalformed, "nothing yet")
	}
	if w.changePlaylist != nil {
		w.changePlaylist(&p)
	}
	return p
}

func (w *world) analysis(s watch.Segment, began float64) watch.Analysis {
	a := watch.Analysis{Began: at(began), Segment: s.ID()}
	if within(w.refused, began) {
		a.Failure = watch.NewFailure(w.refusal, "media.test: answered 403")
		return a
	}
	if within(w.segmentsFail, began) || within(byURL(w.segmentsFailIn, s.URI), began) || w.failsSegment != nil && w.failsSegment(s.Sequence) ||
		w.refusesURI != nil && w.refusesURI(s.URI) {
		a.Failure = watch.NewFailure(w.failure, "no segment")
		return a
	}
	start := float64(s.Sequence) * w.segment
	a.Intervals = map[detector.Name][]detector.Interval{}
	found := func(d detector.Name, bad []span) {
		for _, b := range bad {
			from, to := max(b.from, start)-start, min(b.to, start+w.segment)-start
			if to > from {
				a.Intervals[d] = append(a.Intervals[d], detector.Interval{From: time.Duration(from * float64(time.Second)), To: time.Duration(to * float64(time.Second))})
			}
		}
	}
	if !strings.Contains(s.URI, "/sound/") {
		a.Video = detector.DecodedTrack{Present: true, To: s.Duration}
		found(detector.Blackout, append(slices.Clone(w.black), byURL(w.blackIn, s.URI)...))
		for name, bad := range w.otherDetectors {
			found(name, bad)
		}
	}
	if !strings.Contains(s.URI, "/picture/") && !w.noSound {
		a.Audio = detector.DecodedTrack{Present: true, To: s.Duration}
		found(detector.Silence, w.silent)
	}
	if w.changeAnalysis != nil {
		w.changeAnalysis(&a)
	}
	if strings.Contains(s.URI, "/text/") {
		state := detector.EmptyCaptions
		if within(w.texts, start) {
			state = detector.CaptionText
		}
		a.Measured.Captions = &state
	}
	return a
}

// keyFrames returns the times of a segment's key frames, in program time.
func (w *world) keyFrames(s watch.Segment) (times []float64) {
	start := float64(s.Sequence) * w.segment
	if w.groups == 0 {
		return []float64{start}
	}
	for n := math.Ceil(start/w.groups - 1e-9); n*w.groups < start+w.segment-1e-9; n++ {
		times = append(times, n*w.groups)
	}
	return times
}

// screenPicture leaves of an analysis what a look at key frames shows, if that is enough.
func (w *world) screenPicture(a *watch.Analysis, task watch.Task) {
	start := float64(task.Segment.Sequence) * w.segment
	var shown []float64
	for _, t := range w.keyFrames(task.Segment) {
		if within(w.black, t) {
			return
		}
		shown = append(shown, t-start)
	}
	if w.screen(&a.Video, task.Segment, shown, 1./30, task.Look.Video) {
		delete(a.Intervals, detector.Blackout)
	}
}

// screenSound leaves of an analysis what some moments of its sound show, if that is enough.
func (w *world) screenSound(a *watch.Analysis, task watch.Task) {
	start := float64(task.Segment.Sequence) * w.segment
	var loud []float64
	for t := 0.03; t < w.segment; t += 0.2 {
		if !within(w.silent, start+t) {
			loud = append(loud, t)
		}
	}
	if w.screen(&a.Audio, task.Segment, loud, 0, min(task.Look.Audio, seconds(1)/2)) {
		delete(a.Intervals, detector.Silence)
	}
}

// screen makes a track one of which only frames at some seconds were decoded, if no more than limit
// is hidden.
func (w *world) screen(t *detector.DecodedTrack, s watch.Segment, frames []float64, length float64, limit time.Duration) bool {
	if len(frames) == 0 || !t.Present || within(w.damaged, float64(s.Sequence)*w.segment) {
		return false
	}
	shown := *t
	shown.From, shown.To = seconds(1)*time.Duration(frames[0]*1e6)/1e6, seconds(1)*time.Duration((frames[len(frames)-1]+length)*1e6)/1e6
	hidden := max(shown.From, s.Duration-shown.To)
	for i := range frames[1:] {
		hidden = max(hidden, seconds(1)*time.Duration((frames[i+1]-frames[i])*1e6)/1e6)
	}
	if shown.To <= shown.From || hidden > limit {
		return false
	}
	shown.Screened = true
	*t = shown
	return true
}
