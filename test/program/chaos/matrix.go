//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// logDir holds one report for each seed that failed.
const logDir = "bin/faults"

// runMatrix runs the seeds and returns how many failed. A run that is
// inconclusive as a whole counts as one more. It returns an error if the seeds
// cannot be run.
func runMatrix(ctx context.Context, o options, out io.Writer) (failed int, err error) {
	dir, err := os.MkdirTemp("", "stream-monitor-faults-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// PostgreSQL runs as another user and must be able to enter the directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return 0, err
	}
	shared := sharedEnvironment{dir: dir, options: o}
	if err := tryMount(dir); err != nil {
		fmt.Fprintf(out, "chaos: NOT EVERY FAULT TYPE IS AVAILABLE: a small disk cannot be mounted (%v), so no disk is filled\n", err)
	} else {
		shared.mountsDisks = true
	}
	if shared.binary, err = system.Build(ctx, dir, "faults"); err != nil {
		return 0, err
	}
	if shared.library, err = livestream.Open(livestream.Options{}); err != nil {
		return 0, err
	}
	if shared.processes, err = newProcessTracker(); err != nil {
		return 0, err
	}

	began := time.Now()
	results := runAll(ctx, shared, o, out)
	for _, r := range results {
		if len(r.findings) > 0 {
			failed++
		}
	}
	if !summary(out, results, time.Since(began)) {
		failed++
	}
	return failed, ctx.Err()
}

// runAll runs o.parallel seeds at a time and prints each result as its seed
// ends.
func runAll(ctx context.Context, shared sharedEnvironment, o options, out io.Writer) []result {
	results := make([]result, o.seedCount)
	slots := make(chan struct{}, o.parallel)
	var running sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i := range results {
		slots <- struct{}{}
		if ctx.Err() != nil {
			results = results[:i]
			break
		}
		s := generate(o.firstSeed+i, shared.mountsDisks)
		if o.mutates {
			s.dropFaults()
		}
		if o.verbose || o.seedCount == 1 {
			mu.Lock()
			fmt.Fprintln(out, s)
			mu.Unlock()
		}
		running.Go(func() {
			defer func() { <-slots }()
			r := runSeed(ctx, shared, s)
			saveReport(r)
			mu.Lock()
			defer mu.Unlock()
			results[i] = r
			done++
			fmt.Fprintf(out, "%3d/%d  %s\n", done, o.seedCount, r.line())
			for _, f := range r.findings {
				fmt.Fprintf(out, "         %s\n", strings.ReplaceAll(f, "\n", "\n           "))
			}
		})
	}
	running.Wait()
	return results
}

// saveReport writes the report of a seed that failed, and removes an older
// report of a seed that passed.
func saveReport(r result) {
	path := filepath.Join(logDir, fmt.Sprintf("seed-%d.log", r.schedule.seed))
	if len(r.findings) == 0 {
		_ = os.Remove(path)
		return
	}
	if err := os.MkdirAll(logDir, 0o755); err == nil {
		_ = os.WriteFile(path, []byte(r.report), 0o644)
	}
}
