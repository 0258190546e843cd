package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// intervals are the distances of the checks that are tried.
var intervals = [...]time.Duration{time.Second, 5 * time.Second, 10 * time.Second}

// starts is from how many moments, spread over a check interval, each clip is
// watched: with checks far apart it is chance what they fall on.
const startPoints = 4

// result is what became of one item.
type result struct {
	item corpus.Item
	at   [len(intervals)]intervalResult
}

// sampling is what became of it at one check interval.
type intervalResult struct {
	verdicts    []verdict // of each stretch of truth
	falseAlarms []string  // in words
}

// run makes the items' clips and watches them, as many at a time as there are
// processors. Results are in the order of the items; each is announced when it
// is there. The first error ends it.
func run(ctx context.Context, l *corpus.Library, items []corpus.Item, done func(corpus.Item)) ([]result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]result, len(items))
	failures := make([]error, len(items))
	next := make(chan int)
	var (
		wait sync.WaitGroup
		tell sync.Mutex
	)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for n := range next {
				if results[n], failures[n] = watchItem(ctx, l, items[n]); failures[n] != nil {
					failures[n] = fmt.Errorf("%s: %w", items[n].Name, failures[n])
					cancel()
					continue
				}
				tell.Lock()
				done(items[n])
				tell.Unlock()
			}
		})
	}
	for n := range items {
		next <- n
	}
	close(next)
	wait.Wait()
	return results, errors.Join(failures...)
}

// view watches one item at every interval, from every start.
func watchItem(ctx context.Context, l *corpus.Library, i corpus.Item) (result, error) {
	r := result{item: i}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	clip, err := l.Clip(ctx, i)
	if err != nil {
		return r, err
	}
	v := newViewer(clip, ffmpeg.New(ffmpeg.Config{Path: l.FFmpeg()}), hls.Format{})
	for n, interval := range intervals {
		s := &r.at[n]
		s.verdicts = make([]verdict, len(i.Truth))
		for start := range startPoints {
			phase := interval * time.Duration(start) / startPoints
			seen, err := v.watch(ctx, interval, phase)
			if err != nil {
				return r, fmt.Errorf("checks every %v: %w", interval, err)
			}
			for _, alarm := range evaluate(i, clip.Length(), seen, s.verdicts) {
				s.falseAlarms = append(s.falseAlarms, fmt.Sprintf("checks every %v, begun %v in: %s", interval, phase, alarm))
			}
		}
	}
	return r, nil
}
