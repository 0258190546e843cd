package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// interval is the time between two checks of a stream.
const interval = 10 * time.Second

// Streams share timelines.
const (
	calmTimelines   = 8               // of the streams without trouble
	maxTroubled     = 14              // timelines with trouble
	segmentDuration = 5 * time.Second // that of YouTube's live streams of normal latency
	keptSegments    = 13              // of a rendition, about a minute
	lateBy          = time.Second     // by which a check may come late and still count as on time
)

// best is the best quality, which the specification's method analyses.
var best = livestream.Rendition{Itag: 96, Width: 1920, Height: 1080, Bandwidth: 4_500_000}

// videoID returns the ID of stream k, of 11 characters.
func videoID(k int) string { return fmt.Sprintf("bench%06d", k) }

// media serves the streams.
type media struct {
	*youtube.Server

	traffic   *traffic
	timelines []*timeline
	of        []int // the timeline of each stream
}

// startMedia serves n streams. One in ten has trouble, and at least one goes black and one silent.
func startMedia(ctx context.Context, n int) (*media, error) {
	troubled := min(n, max(2, n/10))
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		return nil, err
	}
	s := &media{traffic: &traffic{checked: map[string]time.Time{}, watched: map[string]bool{}}}
	for i, count := 0, calmTimelines+min(troubled, maxTroubled); i < count; i++ { // their segments end at different times
		phase := segmentDuration * time.Duration(i) / time.Duration(count)
		stream, err := library.Start(ctx, livestream.Config{
			Start: time.Now().Add(-phase), Preroll: time.Minute, Segment: segmentDuration,
			Renditions: []livestream.Rendition{livestream.Muxed144p, best},
		})
		if err != nil {
			return nil, err
		}
		s.timelines = append(s.timelines, &timeline{Stream: stream, segments: map[segmentKey][]byte{}})
	}
	if s.Server, err = youtube.Start(youtube.Config{OnRequest: s.traffic.request}); err != nil {
		return nil, err
	}
	for k := range n {
		i := k % calmTimelines
		if k < troubled {
			i = calmTimelines + k%maxTroubled
		}
		s.of = append(s.of, i)
		s.Add(videoID(k), youtube.Video{State: youtube.Live, Source: viewed{s.timelines[i], videoID(k), s.traffic}})
	}
	return s, nil
}

// cue makes something happen to a timeline, and returns the instant at which it takes effect.
func (s *media) cue(timeline int, at time.Time, do livestream.Action) time.Time {
	t := s.timelines[timeline]
	return t.Do(livestream.Cue{At: at.Sub(t.Began()), Do: do})
}

// timeline is a stream that many videos show. It keeps its segments, because many viewers
// request each.
type timeline struct {
	*livestream.Stream

	mu       sync.Mutex
	segments map[segmentKey][]byte
}

type segmentKey struct {
	itag     int
	sequence uint64
}

// viewed is a timeline as one video shows it. It counts the segments that are served.
type viewed struct {
	*timeline

	video   string
	traffic *traffic
}

// Segment implements youtube.Source.
func (v viewed) Segment(ctx context.Context, itag int, sequence uint64) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := segmentKey{itag, sequence}
	if v.segments[key] == nil {
		b, err := v.Stream.Segment(ctx, itag, sequence)
		if err != nil {
			return nil, err
		}
		v.segments[key] = b
		delete(v.segments, segmentKey{itag, sequence - keptSegments})
	}
	v.traffic.segment(v.video)
	return v.segments[key], nil
}

// traffic counts what the media server is asked for.
type traffic struct {
	mu      sync.Mutex
	checked map[string]time.Time // the newest check of each video
	watched map[string]bool      // videos of which a segment was served since the last reset
	counters
}

// counters are what was counted since the last reset.
//
// A gateway requests a playlist for each check. The next check is due an interval later, or
// sooner. So a check is late by the time since the one before less an interval, or by more.
type counters struct {
	Checks     int     // requests of playlists, refused ones too
	Late       int     // of these, by more than lateBy
	LargestSec float64 // the largest delay; 0: none was late

	Questions int // about the state of a video: watch pages that a tool has read

	Watched   int       // videos of which a segment was served
	WatchedAt time.Time // when the last of them was served its first one
}

// request counts a question or a check. A check that follows a reset is compared with the one
// before it.
func (t *traffic) request(r youtube.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r.Class {
	case youtube.Watch:
		t.Questions++
	case youtube.Playlist:
		t.Checks++
		before, known := t.checked[r.Video]
		t.checked[r.Video] = r.At
		if !known {
			return
		}
		delay := r.At.Sub(before) - interval
		if delay > lateBy {
			t.Late++
		}
		t.LargestSec = max(t.LargestSec, delay.Seconds())
	default:
	}
}

func (t *traffic) segment(video string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.watched[video] {
		t.watched[video] = true
		t.Watched, t.WatchedAt = len(t.watched), time.Now()
	}
}

// count returns the counters.
func (t *traffic) count() counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counters
}

// reset returns the counters, and begins anew.
func (t *traffic) reset() counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counters
	t.counters, t.watched = counters{}, map[string]bool{}
	return c
}
