package main

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// A sample of the corpus is played here, and all of it by "make quality". Every onset
// and end must be within its bound at every check interval.
func TestEveryEventIsFoundAndNoFalseAlarmIsGiven(t *testing.T) {
	l, err := corpus.Open(corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path, err := testtools.Decoder()
	if err != nil {
		t.Fatal(err)
	}
	pool := newPool(path)
	defer pool.Close()
	results, err := run(t.Context(), l, tools{ffmpeg: l.FFmpeg(), pool: pool}, corpus.Sample(), func(corpus.Item) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range inexact(results) {
		t.Error(text)
	}
	for _, r := range results {
		for n, at := range r.at {
			for _, alarm := range at.falseAlarms {
				t.Errorf("%s: false alarm: %s", r.item.Name, alarm)
			}
			for k, v := range at.verdicts {
				if truth := r.item.Truth[k]; v.missed > 0 {
					t.Errorf("%s: %s from %v to %v s: missed by %d of %d watches with checks every %v",
						r.item.Name, truth.Of, truth.From, truth.To, v.missed, startPoints, intervals[n])
				}
			}
		}
	}
	if sum := total(results); sum.clips != 8 || sum.events < 6 {
		t.Errorf("%d events in %d clips: some of the sample is missing", sum.events, sum.clips)
	}
}
