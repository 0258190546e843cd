package main

import (
	"testing"
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

func bound(s corpus.BadInterval) time.Duration {
	if s.Fade == 0 {
		return cutBound
	}
	return cutBound + fadeFrame + time.Duration(s.Fade*fadePart*float64(time.Second))
}

// Every onset and end must be within its bound at every check interval.
func TestEveryEventIsFoundAndNoFalseAlarmIsGiven(t *testing.T) {
	l, err := corpus.Open(corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	items := corpus.Items()
	results, err := run(t.Context(), l, items, func(corpus.Item) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Run(r.item.Name, func(t *testing.T) {
			for n, at := range r.at {
				for _, alarm := range at.falseAlarms {
					t.Errorf("false alarm: %s", alarm)
				}
				for k, v := range at.verdicts {
					truth := r.item.Truth[k]
					if v.missed > 0 {
						t.Errorf("%s from %v to %v s: missed by %d of %d watches with checks every %v", truth.Of, truth.From, truth.To, v.missed, startPoints, intervals[n])
					}
					if limit := bound(truth); v.onset.Abs() > limit || v.end.Abs() > limit {
						t.Errorf("%s from %v to %v s: with checks every %v the onset is off by %v and the end by %v; at most %v is allowed", truth.Of, truth.From, truth.To, intervals[n], v.onset, v.end, limit)
					}
				}
			}
		})
	}
	if sum := total(results); sum.events < 40 || sum.clips < 60 {
		t.Errorf("%d events in %d clips: some of the corpus is missing", sum.events, sum.clips)
	}
}
