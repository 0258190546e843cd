package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // it starts tools
)

// intervals are the check intervals to measure.
var intervals = [...]time.Duration{time.Second, 5 * time.Second, 10 * time.Second}

// startPoints is the number of phases within a check interval from which each
// clip is watched. The phase decides which segments a slow check sees.
const startPoints = 4

// result holds the results of one item at every check interval.
type result struct {
	item corpus.Item
	at   [len(intervals)]intervalResult
	comparison
}

// tools analyse segments.
type tools struct {
	ffmpeg  string
	pool    *decoder.Pool // nil: ffmpeg analyses every segment
	compare bool          // with what ffmpeg finds
}

// intervalResult holds the results of one item at one check interval.
type intervalResult struct {
	verdicts    []verdict // one for each interval of the truth
	falseAlarms []string  // as text
}

// run encodes the items' clips and watches GOMAXPROCS of them at a time. It
// returns the results in the order of the items, and calls done after each. The
// first error ends it.
func run(ctx context.Context, l *corpus.Library, t tools, items []corpus.Item, done func(corpus.Item)) ([]result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]result, len(items))
	failures := make([]error, len(items))
	next := make(chan int)
	var (
		wait     sync.WaitGroup
		callDone sync.Mutex
	)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for n := range next {
				results[n], failures[n] = watchItem(ctx, l, t, items[n])
				if err := failures[n]; err != nil && isRandom(items[n]) && ctx.Err() == nil {
					results[n].differences, failures[n] = append(results[n].differences, err.Error()), nil
				}
				if failures[n] != nil {
					failures[n] = fmt.Errorf("%s: %w", items[n].Name, failures[n])
					cancel()
					continue
				}
				callDone.Lock()
				done(items[n])
				callDone.Unlock()
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

// watchItem watches one item at every check interval, from every start point. An item
// without truth is only compared.
func watchItem(ctx context.Context, l *corpus.Library, t tools, i corpus.Item) (result, error) {
	r := result{item: i}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	clip, err := l.Clip(ctx, i)
	if err != nil {
		return r, err
	}
	command := newPlayer(clip, t.command(), hls.Format{})
	player := command
	if t.pool != nil {
		player = newPlayer(clip, t.decoder(command, &r.comparison), hls.Format{})
	}
	for n, interval := range intervals {
		at := &r.at[n]
		at.verdicts = make([]verdict, len(i.Truth))
		for start := range startPoints {
			phase := interval * time.Duration(start) / startPoints
			watched, err := player.watch(ctx, interval, phase)
			if err != nil {
				return r, fmt.Errorf("checks every %v: %w", interval, err)
			}
			where := fmt.Sprintf("checks every %v, begun %v in", interval, phase)
			if !isRandom(i) {
				for _, alarm := range evaluate(i, clip.Length(), watched, at.verdicts) {
					at.falseAlarms = append(at.falseAlarms, where+": "+alarm)
				}
			}
			if t.compare {
				want, err := command.watch(ctx, interval, phase)
				if err != nil {
					return r, fmt.Errorf("checks every %v by ffmpeg: %w", interval, err)
				}
				r.add(where, watched.events, want.events)
			}
		}
	}
	return r, nil
}
