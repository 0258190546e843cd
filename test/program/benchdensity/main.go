//go:build linux

// Command benchdensity measures how many live streams one gateway watches on this machine,
// and what a stream costs. "make bench-density" runs it.
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
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

const help = `How many live streams does one gateway watch on this machine, and what does a stream cost?

  make bench-density                                     100, 300 and 1,000 streams, 15 minutes each
  make bench-density STORMS=1 OUT=results                with storms; profiles and results.json in results
  go run ./test/program/benchdensity -n 20 -for 2m       a short look
  go run ./test/program/benchdensity -n 20 -for 0 -storms
  go run ./test/program/benchdensity -runtime process -n 50

Each run starts PostgreSQL, a gateway and a media server, registers the streams a few at a time,
waits until all are watched, and then measures. Some streams go black or silent at known
instants, if there is time for it. segment-decoder is built and used if there are a compiler and
the libraries of FFmpeg; -env DECODER_PATH=off measures without it. For each number of streams:

  CPU seconds per stream-hour, by part. The gateway includes worker processes. What yt-dlp uses is
      read from /proc five times a second, so a run may lack up to 0.2 s, which the analyser then
      has. Live streams ask yt-dlp about once an hour: a short run shows none of it, or too much.
      What the start of a stream costs is printed apart.
  The same for the method of the specification (sections 6.3 and 6.4), and the ratio: two runs of
      ffmpeg for a segment of the best quality at each check, and yt-dlp every 30 s.
  Checks, and how many came late: for each one the gateway reads a playlist, so the media server
      sees by how much the time since the one before exceeds the interval.
  Questions: how many watch pages yt-dlp has read.
  Alerts: how long after the onset and the threshold the webhook arrived, and how far its onset
      is from the truth. A segment is listed when it is complete, so an alert can wait for one.
  Memory (PSS: pages that processes share are divided among them), file descriptors,
      goroutines, transactions of the database, cores that other programs used meanwhile.

With -storms, all streams are registered at once, and after the measurement the gateway is
restarted, then killed while a second one runs on its database, then all URLs are refused at the
same instant, and last all playlists stop until every stream has an alert. A line for each says
after how long every stream was watched again (a segment of it was fetched), and how many
questions, late checks and alerts there were meanwhile. During a restart a check is late by the
time without a gateway.

Nothing else should run. Figures vary with the machine: the ratio to the specification's method is
what two machines can compare. The pictures are a test pattern; the variable TEST_CLIP names a
film to show instead.

A number of streams takes -for and two minutes, or with -storms about 8 minutes. What was measured
until an error or a signal is printed; then the next number follows. The exit code is 0 when
everything was measured, whatever the figures are, 1 when something prevented that, and 2 after a
wrong flag. Progress is on standard error.
`

// options are the command-line flags.
type options struct {
	counts    []int
	duration  time.Duration
	interval  int // seconds
	threshold int // seconds
	trouble   int // per cent of the streams
	storms    bool
	runtime   string
	out       string // directory; empty: nothing is written
	env       []string
}

func main() {
	var o options
	counts := flag.String("n", "100,300,1000", "numbers of `STREAMS`, measured one after the other")
	flag.DurationVar(&o.duration, "for", 15*time.Minute, "how long each number is measured; 0: storms only")
	flag.BoolVar(&o.storms, "storms", false, "measure what happens to all streams at once, too")
	flag.IntVar(&o.interval, "interval", 10, "check interval in `SECONDS`")
	flag.IntVar(&o.threshold, "threshold", 30, "threshold of black and silence in `SECONDS`")
	flag.IntVar(&o.trouble, "trouble", 10, "how many in 100 streams go black or silent; 0: none")
	flag.StringVar(&o.runtime, "runtime", "inline", "WORKER_RUNTIME of the gateway: inline or process")
	flag.StringVar(&o.out, "out", "", "write results.json and profiles of the gateway (go tool pprof) to this `DIRECTORY`")
	flag.Func("env", "another `NAME=VALUE` of the gateway's environment; may be given several times", func(v string) error {
		o.env = append(o.env, v)
		return nil
	})
	bench.Main("bench-density", help, func(ctx context.Context) error {
		for word := range strings.SplitSeq(*counts, ",") {
			n, _ := strconv.Atoi(strings.TrimSpace(word))
			o.counts = append(o.counts, n)
		}
		if err := o.check(); err != nil {
			return err
		}
		return bench.InTempDir(func(dir string) error { return measureAll(ctx, o, dir) })
	})
}

func (o options) check() error {
	for _, n := range o.counts {
		if n < 1 || n > 10_000 {
			return fmt.Errorf("-n must be numbers from 1 to 10000, separated by commas: %w", bench.ErrUsage)
		}
	}
	switch {
	case o.duration < 0 || o.duration == 0 && !o.storms:
		return fmt.Errorf("-for must be positive, or 0 with -storms: %w", bench.ErrUsage)
	case o.interval < 1 || o.interval > 60 || o.threshold < 1 || o.threshold > 300 || o.trouble < 0 || o.trouble > 100:
		return fmt.Errorf("-interval must be 1 to 60, -threshold 1 to 300 and -trouble 0 to 100: %w", bench.ErrUsage)
	case o.runtime != "inline" && (o.runtime != "process" || o.storms):
		return fmt.Errorf("-runtime must be inline or process, and inline with -storms: %w", bench.ErrUsage)
	}
	return nil
}

// measureAll measures each number of streams.
func measureAll(ctx context.Context, o options, dir string) error {
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return err
		}
	}
	say("building")
	binary, err := system.Build(ctx, dir, "profile")
	if err != nil {
		return err
	}
	fmt.Println(machine())
	var all []result
	var errs []error
	for _, n := range o.counts {
		if ctx.Err() != nil {
			break
		}
		r, err := measure(ctx, o, n, binary, filepath.Join(dir, strconv.Itoa(n)))
		if err != nil {
			err = fmt.Errorf("%d streams: %w", n, err)
			reason, _, _ := strings.Cut(err.Error(), "\n")
			r.Notes = append(r.Notes, "measured until an error: "+reason)
		}
		r.print()
		all = append(all, r)
		errs = append(errs, err, o.writeResults(all))
	}
	return errors.Join(errs...)
}

// writeResults writes results.json to the directory of -out, if that is set.
func (o options) writeResults(all []result) error {
	if o.out == "" {
		return nil
	}
	encoded, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "results.json"), append(encoded, '\n'), 0o644)
}

// machine describes this machine.
func machine() string {
	value := func(file, name string) string {
		text, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(text), name)
		line, _, _ := strings.Cut(rest, "\n")
		return strings.Trim(line, ": \t")
	}
	return fmt.Sprintf("%s: %d cores of %s, %s of memory, %s", time.Now().Format(time.DateTime), runtime.NumCPU(),
		value("/proc/cpuinfo", "model name"), value("/proc/meminfo", "MemTotal"), runtime.Version())
}

// say prints progress.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
