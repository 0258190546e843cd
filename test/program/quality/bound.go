package main

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// The largest error of an onset or an end. A segment's time begins with its first
// packet. If the encoder reorders pictures, that packet is sound from up to two
// frames before the first picture: 80 ms at 25 frames a second. One frame of AAC
// is 21 ms. A fade adds one frame and 2 % of its length: two steps of luma, by
// which the encoder's rounding may be wrong.
const (
	cutBound  = 40 * time.Millisecond
	fadeFrame = time.Second / corpus.Rate
	fadePart  = 0.02
)

// bound returns the largest error of an interval's onset and end.
func bound(s corpus.BadInterval) time.Duration {
	if s.Fade == 0 {
		return cutBound
	}
	return cutBound + fadeFrame + time.Duration(s.Fade*fadePart*float64(time.Second))
}

// inexact lists, as text, the alerts whose onset or end is off by more than its bound.
func inexact(results []result) (all []string) {
	for _, r := range results {
		for n, at := range r.at {
			for k, v := range at.verdicts {
				truth := r.item.Truth[k]
				if limit := bound(truth); v.onset.Abs() > limit || v.end.Abs() > limit {
					all = append(all, fmt.Sprintf("%s: %s from %v to %v s: with checks every %v the onset is off by %v and the end by %v; at most %v is allowed",
						r.item.Name, truth.Of, truth.From, truth.To, intervals[n], v.onset, v.end, limit))
				}
			}
		}
	}
	return all
}
