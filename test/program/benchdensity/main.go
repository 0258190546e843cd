// Command benchdensity measures how many live streams one gateway watches on this machine,
// and what a stream costs. docs/capacity.md says how to read the results.
//
//	this program: media server ◀── playlists, segments ── gateway ── PostgreSQL
//	                 ▲                                       │
//	                 cues: black, silence;  webhooks ◀───────┘
//
// The gateway is the product, built with the tag "profile", which adds the endpoint of
// net/http/pprof. Its resolver, analyser and database are the real ones. Streams share a few
// timelines, whose media the server keeps, so that it costs little.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

const help = `How many live streams does one gateway watch on this machine, and what does a stream cost?

It prints a JSON object for each number of streams; docs/capacity.md explains the figures. It takes
-for and two minutes, or with -storms about 8 minutes. What was measured until an error or a signal
is printed. The exit code is 0 when everything was measured, whatever the figures are.
`

// options are the command-line flags.
type options struct {
	counts   []int
	duration time.Duration
	storms   bool
	preset   string
	env      []string
}

func main() {
	var o options
	counts := flag.String("n", "100,300,1000", "numbers of `STREAMS`, measured one after the other")
	flag.DurationVar(&o.duration, "for", 15*time.Minute, "how long each number is measured; 0: storms only")
	flag.BoolVar(&o.storms, "storms", false, "measure what else can happen to all streams at once, too")
	flag.StringVar(&o.preset, "preset", "", "a preset's `NAME`, such as 24x7, whose optional detectors run")
	flag.Func("env", "another `NAME=VALUE` of the gateway's environment; may be given several times", func(v string) error {
		o.env = append(o.env, v)
		return nil
	})
	bench.Main("bench-density", help, func(ctx context.Context) error {
		for word := range strings.SplitSeq(*counts, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 || n > 10_000 {
				return fmt.Errorf("-n must be numbers from 1 to 10000, separated by commas: %w", bench.ErrUsage)
			}
			o.counts = append(o.counts, n)
		}
		if o.duration <= 0 && !o.storms {
			return fmt.Errorf("-for must be positive without -storms: %w", bench.ErrUsage)
		}
		return bench.InTempDir(func(dir string) error { return measureAll(ctx, o, dir) })
	})
}

// measureAll measures each number of streams.
func measureAll(ctx context.Context, o options, dir string) error {
	binary, err := system.Build(ctx, dir, "profile")
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range o.counts {
		if ctx.Err() != nil {
			break
		}
		r := result{Streams: n, Preset: o.preset, Env: o.env}
		if err := measure(ctx, o, &r, binary, filepath.Join(dir, strconv.Itoa(n))); err != nil {
			r.Failure = err.Error()
			errs = append(errs, fmt.Errorf("%d streams: %w", n, err))
		}
		text, err := json.MarshalIndent(r, "", "  ")
		fmt.Println(string(text))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// say prints progress.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
