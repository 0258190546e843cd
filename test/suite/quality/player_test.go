package quality_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// The times of the simulated stream. The clip's first frame is captured at epoch,
// which is also its program time.
const (
	address       = "https://media.test/live/index.m3u8"
	window        = 30 * time.Second        // of the playlist, or three check intervals
	latency       = 1500 * time.Millisecond // from a segment's last frame to its publication in the playlist
	endListDelay  = 8 * time.Second         // beyond a check interval, from the last segment to EXT-X-ENDLIST
	finishTimeout = time.Minute             // after EXT-X-ENDLIST, until the watcher must have finished

	resolveTime  = 2 * time.Second        // of each resolution
	playlistTime = 100 * time.Millisecond // of the playlist
	analysisTime = 400 * time.Millisecond // of a segment
)

var epoch = time.Date(2026, 1, 15, 20, 0, 0, 0, time.UTC)

// player plays one clip to watchers, one after the other. It looks at each segment once as closely,
// however often the clip is watched.
type player struct {
	clip       corpus.Clip
	references []detector.Reference
	analyser   worker.Analyser
	analyses   map[look]watch.Analysis
	interval   time.Duration // of the checks
}

// look is one analysis of a segment.
type look struct {
	segment string // its name
	calm    watch.Look
}

// watched is the result of one watch of a clip.
type watched struct {
	interval time.Duration // of the checks
	first    time.Duration // where in the clip the first analysed segment begins
	events   []received
}

// received is an event and the time at which the watcher emitted it.
type received struct {
	at time.Duration // since the epoch
	event.Event
}

// watch plays the clip to a watcher on virtual time. The watcher begins at phase after the
// publication of the first segment.
func (p *player) watch(t *testing.T, interval, phase time.Duration) watched {
	t.Helper()
	p.interval = interval
	config := monitor.DefaultConfig()
	config.CheckIntervalSec = int(interval / time.Second)
	for _, name := range p.clip.Item.Runs {
		config.SwitchOn(name)
	}
	for _, name := range append([]detector.Name{detector.Blackout, detector.Silence}, p.clip.Item.Runs...) {
		if !p.clip.Item.Defaults {
			config.SetThresholdSec(name, int(corpus.Threshold/time.Second))
		}
	}
	for field, value := range p.clip.Item.Settings {
		config.Set(field, value)
	}
	now := epoch.Add(p.clip.Segments[0].End() + latency + phase)
	endListAt := epoch.Add(p.clip.Length() + latency + interval + endListDelay)
	if start := p.clip.Item.Start; start > 0 {
		at := epoch.Add(clipTime(start))
		config.ScheduledStartTime = &at
	}
	rules := watch.RulesOf(config, watch.Smallest)
	rules.References = p.references
	result := watched{interval: interval, first: -1}
	events, finished := simulate(watch.New(rules, now), now, endListAt.Add(finishTimeout), func(next watch.Task, now time.Time) (watch.Observation, time.Duration) {
		o, took, err := p.observe(t.Context(), next, now, endListAt, config.Value)
		if err != nil {
			t.Fatal(err)
		}
		if next.Kind == watch.TaskSegment && result.first < 0 {
			result.first = p.clip.Segments[next.Segment.Sequence].Start
		}
		return o, took
	})
	if !finished {
		t.Fatal("the watcher did not finish after the end of the stream")
	}
	result.events = events
	return result
}

// observe performs a task. It returns the observation and its simulated duration.
func (p *player) observe(ctx context.Context, t watch.Task, now, endListAt time.Time, setting func(string) float64) (watch.Observation, time.Duration, error) {
	switch t.Kind {
	case watch.TaskResolve:
		return watch.Resolution{Began: now, State: watch.Live, Source: "player", Manifest: address, ActualStart: epoch}, resolveTime, nil
	case watch.TaskProbe:
		return watch.ProbeResult{Began: now, Known: true, Exists: true}, resolveTime, nil
	case watch.TaskPlaylist:
		playlist, err := hls.Format{}.Decode(ctx, []byte(p.playlist(now, endListAt)), manifest.Origin{URL: address}, "")
		playlist.Began, playlist.URL = now, t.URL
		return playlist, playlistTime, err
	case watch.TaskSegment:
		a, err := p.analyse(ctx, t.Segment, t.Look, setting)
		a.Began, a.Segment = now, t.Segment.ID()
		return a, analysisTime, err
	}
	return nil, 0, fmt.Errorf("unknown task %s", t.Kind)
}

// analyse analyses a segment, or remembers what was found.
func (p *player) analyse(ctx context.Context, s watch.Segment, calm watch.Look, setting func(string) float64) (watch.Analysis, error) {
	of := p.clip.Segments[s.Sequence]
	if a, known := p.analyses[look{of.Name, calm}]; known {
		return a, nil
	}
	a, err := p.analyser.Analyse(ctx, s, calm, bytes.NewReader(of.Bytes), setting)
	if err != nil {
		return a, fmt.Errorf("segment %s: %w", of.Name, err)
	}
	if p.analyses == nil {
		p.analyses = map[look]watch.Analysis{}
	}
	p.analyses[look{of.Name, calm}] = a
	return a, nil
}

// playlist returns the live playlist.
func (p *player) playlist(now, endListAt time.Time) string {
	since, target := now.Sub(epoch)-latency, p.clip.Item.Segment
	list := livestream.Playlist{Target: target, Ended: !now.Before(endListAt)}
	for n, s := range p.clip.Segments {
		if s.End() > since || s.Start < since-max(window, 3*p.interval)-target {
			continue
		}
		e := livestream.Entry{Sequence: uint64(n), Duration: s.Duration}
		if list.Entries == nil {
			list.First, e.ProgramTime = e.Sequence, epoch.Add(s.Start)
		}
		list.Entries = append(list.Entries, e)
	}
	return list.Text(func(e livestream.Entry) string { return fmt.Sprint(e.Sequence, "-", p.clip.Segments[e.Sequence].Name) })
}
