package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// The times of the simulated stream. The clip's first frame is captured at epoch,
// which is also its program time.
const (
	window        = 30 * time.Second        // of the playlist
	latency       = 1500 * time.Millisecond // from a segment's last frame to its publication in the playlist
	endListDelay  = 8 * time.Second         // beyond a check interval, from the last segment to EXT-X-ENDLIST
	finishTimeout = time.Minute             // after EXT-X-ENDLIST, until the watcher must have finished

	resolveTime  = 2 * time.Second        // of each resolution
	playlistTime = 100 * time.Millisecond // of the playlist
	analysisTime = 400 * time.Millisecond // of a segment
)

var epoch = time.Date(2026, 1, 15, 20, 0, 0, 0, time.UTC)

// clipPlayer plays one clip to watchers. It looks at each segment once as closely, however
// often the clip is watched. It is not safe for concurrent use.
type clipPlayer struct {
	clip     corpus.Clip
	analyser worker.Analyser
	format   manifest.Format
	analyses map[look]watch.Analysis
}

// look is one analysis of a segment.
type look struct {
	segment int // its index in the clip
	calm    watch.Calm
}

func newPlayer(clip corpus.Clip, a worker.Analyser, f manifest.Format) *clipPlayer {
	return &clipPlayer{clip: clip, analyser: a, format: f, analyses: map[look]watch.Analysis{}}
}

// watchResult is the result of one watch of a clip.
type watchResult struct {
	first  time.Duration // where in the clip the first analysed segment begins
	events []receivedEvent
}

// receivedEvent is an event and the time at which the watcher emitted it.
type receivedEvent struct {
	at time.Duration // since the epoch
	event.Event
}

// watch plays the clip to a watcher on virtual time. The watcher begins at phase
// after the publication of the first segment.
func (v *clipPlayer) watch(ctx context.Context, interval, phase time.Duration) (watchResult, error) {
	config := monitor.DefaultConfig()
	config.CheckIntervalSec = int(interval / time.Second)
	config.SetThresholdSec(detector.Blackout, int(corpus.Threshold/time.Second))
	config.SetThresholdSec(detector.Silence, int(corpus.Threshold/time.Second))
	now := epoch.Add(v.clip.Segments[0].End() + latency + phase)
	p := &playback{
		clipPlayer: v, setting: config.Value,
		endListAt: epoch.Add(v.clip.Length() + latency + interval + endListDelay),
		watcher:   watch.New(watch.RulesOf(config, watch.Smallest), now), now: now,
		result: watchResult{first: -1},
	}
	err := p.run(ctx)
	return p.result, err
}

// playback is one watch in progress.
type playback struct {
	*clipPlayer

	setting   func(field string) float64
	endListAt time.Time // when the playlist says EXT-X-ENDLIST
	watcher   *watch.Watcher
	now       time.Time
	pending   []pendingResult // at most one of each lane
	finished  bool
	result    watchResult
}

// pendingResult is the observation of a task that has begun, and when it ends.
type pendingResult struct {
	lane        watch.Lane
	at          time.Time
	observation watch.Observation
}

// run advances the time until the watcher has finished.
func (p *playback) run(ctx context.Context) error {
	for !p.finished {
		wake, err := p.startTasks(ctx)
		if err != nil {
			return err
		}
		due := -1
		for i, o := range p.pending {
			if wake.IsZero() || !o.at.After(wake) {
				wake, due = o.at, i
			}
		}
		if wake.IsZero() || wake.After(p.endListAt.Add(finishTimeout)) {
			return errors.New("the watcher did not finish after the end of the stream")
		}
		if wake.After(p.now) {
			p.now = wake
		}
		switch {
		case due >= 0:
			o := p.pending[due].observation
			p.pending = append(p.pending[:due], p.pending[due+1:]...)
			p.step(o)
		default:
			p.step(watch.Tick{})
		}
	}
	return nil
}

// startTasks starts the due tasks. It returns the time of the next task, or zero.
func (p *playback) startTasks(ctx context.Context) (next time.Time, err error) {
	for _, t := range p.watcher.Next() {
		lane := t.Kind.Lane()
		if lane != watch.LaneTimer && p.busy(lane) {
			continue
		}
		if lane == watch.LaneTimer || t.At.After(p.now) {
			if next.IsZero() || t.At.Before(next) {
				next = t.At
			}
			continue
		}
		o, took, err := p.observe(ctx, t)
		if err != nil {
			return next, err
		}
		p.pending = append(p.pending, pendingResult{lane, p.now.Add(took), o})
	}
	return next, nil
}

func (p *playback) busy(l watch.Lane) bool {
	for _, o := range p.pending {
		if o.lane == l {
			return true
		}
	}
	return false
}

func (p *playback) step(o watch.Observation) {
	for _, e := range p.watcher.Step(p.now, o) {
		switch e := e.(type) {
		case watch.EventEmitted:
			p.result.events = append(p.result.events, receivedEvent{p.now.Sub(epoch), e.Event})
		case watch.Finished:
			p.finished = true
		}
	}
}

// observe performs a task. It returns the observation and its simulated duration.
func (p *playback) observe(ctx context.Context, t watch.Task) (watch.Observation, time.Duration, error) {
	switch t.Kind {
	case watch.TaskResolve:
		return watch.Resolution{Began: p.now, State: watch.Live, Source: "player", Manifest: address, ActualStart: epoch}, resolveTime, nil
	case watch.TaskOEmbed:
		return watch.OEmbedResult{Began: p.now, Known: true, Exists: true}, resolveTime, nil
	case watch.TaskPlaylist:
		playlist, err := p.playlist(ctx)
		playlist.Began, playlist.URL = p.now, t.URL
		return playlist, playlistTime, err
	case watch.TaskSegment:
		a, err := p.analysis(ctx, t.Segment, t.Calm)
		a.Began, a.Segment = p.now, t.Segment.ID()
		return a, analysisTime, err
	default:
		return nil, 0, fmt.Errorf("unknown task %s", t.Kind)
	}
}

// analysis returns the analyser's result of a segment, from memory if possible.
func (p *playback) analysis(ctx context.Context, s watch.Segment, calm watch.Calm) (watch.Analysis, error) {
	n := int(s.Sequence)
	if p.result.first < 0 {
		p.result.first = p.clip.Segments[n].Start
	}
	return p.analyse(ctx, s, calm, p.setting)
}

// analyse analyses a segment, or remembers what was found.
func (v *clipPlayer) analyse(ctx context.Context, s watch.Segment, calm watch.Calm, setting func(string) float64) (watch.Analysis, error) {
	n := int(s.Sequence)
	if a, known := v.analyses[look{n, calm}]; known {
		return a, nil
	}
	a, err := v.analyser.Analyse(ctx, s, calm, bytes.NewReader(v.clip.Segments[n].Bytes), setting)
	if err != nil {
		return a, fmt.Errorf("segment %d: %w", n, err)
	}
	v.analyses[look{n, calm}] = a
	return a, nil
}
