package main

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// totals sums up all results.
type totals struct {
	clips, watches int
	events         int // intervals that need an alert
	missed         int // watches without an alert for an event
	falseAlarms    int
	onset, end     errorRange
	delay          [len(intervals)]time.Duration // the longest from the threshold to the alert
}

// errorRange holds the sizes of errors, without their signs.
type errorRange struct {
	cut  time.Duration // the largest after a cut
	fade time.Duration // the largest in a fade
	p95  time.Duration // 95 of 100 are no larger
}

func total(results []result) totals {
	t := totals{clips: len(results), watches: len(results) * len(intervals) * startPoints}
	var onsets, ends []time.Duration
	for _, r := range results {
		for n, at := range r.at {
			t.falseAlarms += len(at.falseAlarms)
			for k, v := range at.verdicts {
				t.missed += v.missed
				t.onset.add(r.item.Truth[k], v.onset.Abs())
				t.end.add(r.item.Truth[k], v.end.Abs())
				t.delay[n] = max(t.delay[n], v.delay)
				onsets, ends = append(onsets, v.onsets...), append(ends, v.ends...)
			}
		}
		for _, s := range r.item.Truth {
			if s.Alert {
				t.events++
			}
		}
	}
	t.onset.p95, t.end.p95 = percentile95(onsets), percentile95(ends)
	return t
}

func (e *errorRange) add(s corpus.BadInterval, size time.Duration) {
	if s.Fade > 0 {
		e.fade = max(e.fade, size)
	} else {
		e.cut = max(e.cut, size)
	}
}

func percentile95(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)*95+99)/100-1]
}
