//go:build linux

package main

import (
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// lateBy is by how much a check may come late and still count as on time.
const lateBy = time.Second

// traffic counts what the media server is asked for, of all videos but the yardstick's.
type traffic struct {
	interval time.Duration // between two checks of a stream

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
	Checks         int     // requests of playlists, refused ones too
	Late           int     // of these, by more than lateBy
	LateByInterval int     // of these, by more than an interval
	LargestSec     float64 // the largest delay; 0: none was late

	Questions int // about the state of a video: watch pages that a tool has read

	Watched   int       // videos of which a segment was served
	WatchedAt time.Time // when the last of them was served its first one
}

func newTraffic(interval time.Duration) *traffic {
	return &traffic{interval: interval, checked: map[string]time.Time{}, watched: map[string]bool{}}
}

// request counts a question or a check.
func (t *traffic) request(r youtube.Request) {
	if r.Video == yardstickID {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r.Class {
	case youtube.Watch:
		t.Questions++
	case youtube.Playlist:
		t.check(r.Video, r.At)
	default:
	}
}

// check counts a check. One that follows a reset is compared with the one before it. t.mu is
// held.
func (t *traffic) check(video string, at time.Time) {
	t.Checks++
	before, known := t.checked[video]
	t.checked[video] = at
	if !known {
		return
	}
	delay := at.Sub(before) - t.interval
	if delay > lateBy {
		t.Late++
	}
	if delay > t.interval {
		t.LateByInterval++
	}
	t.LargestSec = max(t.LargestSec, delay.Seconds())
}

// segment counts a segment that is served at a time.
func (t *traffic) segment(video string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.watched[video] {
		t.watched[video] = true
		t.Watched, t.WatchedAt = len(t.watched), at
	}
}

// count returns the counters, and begins anew if that is asked for.
func (t *traffic) count(reset bool) counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counters
	if reset {
		t.counters, t.watched = counters{}, map[string]bool{}
	}
	return c
}
