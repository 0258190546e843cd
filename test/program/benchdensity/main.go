//go:build linux

// Command benchdensity measures how many live streams one gateway watches on this machine,
// and what a stream costs. "make bench-density" runs it.
//
//	media server (a process of its own) ◀── playlists, segments ── gateway ── PostgreSQL
//	      ▲                                                          │
//	      └── cues: black, silence ── this program ◀── webhooks ─────┘
//
// The gateway is the product, built with the tag "profile", which adds the endpoint of
// net/http/pprof. Its resolver, analyser and database are the real ones. Streams share a few
// timelines, whose media the server keeps, so that it costs little.
//
// As a yardstick, the program also watches a few streams by the method of the specification
// (sections 6.3 and 6.4). That is two runs of ffmpeg for a segment of the best quality, and
// yt-dlp every 30 s.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// Exit codes.
const (
	exitMeasured = 0
	exitFailed   = 1 // something prevented the measurement
	exitUsage    = 2
)

const help = `How many live streams does one gateway watch on this machine, and what does a stream cost?

  make bench-density                                     100, 300 and 1,000 streams, 15 minutes each
  make bench-density STORMS=1 OUT=results                with storms; profiles and results.json in results
  go run ./test/program/benchdensity -n 20 -for 2m       a short look
  go run ./test/program/benchdensity -n 20 -for 0 -storms
  go run ./test/program/benchdensity -runtime process -n 50

Each run starts PostgreSQL, a gateway and a media server, registers the streams a few at a time,
waits until all are watched, and then measures. Some streams go black or silent at known
instants. segment-decoder is built and used if there are a compiler and the libraries of FFmpeg;
-env DECODER_PATH=off measures without it. It prints for each number of streams:

  The tools that the gateway ran, and how many processes of each were seen.
  CPU seconds per stream-hour, by part. The gateway includes worker processes. What ffmpeg and the
      resolver use is read from /proc five times a second, so a run of yt-dlp may lack up to 0.2 s,
      which the analyser then has. Live streams ask yt-dlp about once an hour: a short run shows
      none of it, or too much. What the start of a stream costs is printed apart.
  Checks, and how many came late: for each one the gateway reads a playlist, so the media server
      sees by how much the time since the one before exceeds the interval. What the gateway's log
      says is printed beside it. It logs late checks by the minute, so those of the minute before
      the measurement may be among them.
  Questions: how many watch pages yt-dlp has read.
  Alerts: how long after the onset and the threshold the webhook arrived, and how far its onset
      is from the truth. A segment is listed when it is complete, so an alert can wait for one.
  Memory (PSS: pages that processes share are divided among them), file descriptors,
      goroutines, transactions of the database, cores that other programs used meanwhile.
  What the specification's method costs in the same minutes for one stream, and the ratio.

With -storms, all streams are registered at once, and after the measurement the gateway is
restarted, then killed while a second one runs on its database, then all URLs are refused at the
same instant, and last all playlists stop until every stream has an alert. A line for each says after how long every stream was watched again (a
segment of it was fetched), and how many questions, late checks and alerts there were meanwhile.
During a restart a check is late by the time without a gateway.

CPU of the media server and of this program is stated, but is not part of the cost. They share the
machine with the gateway. Nothing else should run. Figures vary with the machine: the ratio to the
specification's method is what two machines can compare. The pictures are a test pattern; the
variable TEST_CLIP names a film to show instead.

A number of streams takes -for and -settle, and besides about a minute, or with -storms about 7
minutes. What was measured until an error or a signal is printed; then the next number follows.

The exit code is 0 when everything was measured, whatever the figures are, 1 when something
prevented that, and 2 after a wrong flag. Progress is on standard error.

Flags:
`

// options are the command-line flags.
type options struct {
	counts    []int
	duration  time.Duration
	settle    time.Duration
	interval  int // seconds
	threshold int // seconds
	trouble   int // per cent of the streams
	starting  int // registered streams that may be not watched yet
	yardstick int // streams
	storms    bool
	runtime   string
	out       string // directory; empty: nothing is written
	env       []string
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == mediaServerArg {
		if err := serveMedia(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench-density, media server:", err)
			os.Exit(exitFailed)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command runs the program and returns its exit code.
func command(ctx context.Context, args []string, out, errOut io.Writer) int {
	o, err := parseFlags(args, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitMeasured
	case err != nil:
		return exitUsage
	}
	if err := measureAll(ctx, o, out, errOut); err != nil {
		fmt.Fprintln(errOut, "bench-density:", err)
		return exitFailed
	}
	return exitMeasured
}

// parseFlags parses the flags. It has explained an error to errOut.
func parseFlags(args []string, errOut io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("benchdensity", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprint(errOut, help)
		flags.PrintDefaults()
	}
	counts := flags.String("n", "100,300,1000", "numbers of `STREAMS`, measured one after the other")
	flags.DurationVar(&o.duration, "for", 15*time.Minute, "how long each number is measured, at least a minute; 0: storms only")
	flags.BoolVar(&o.storms, "storms", false, "measure what happens to all streams at once, too")
	flags.DurationVar(&o.settle, "settle", time.Minute, "wait for so long between the start of the last stream and the measurement")
	flags.IntVar(&o.interval, "interval", 10, "check interval in `SECONDS`")
	flags.IntVar(&o.threshold, "threshold", 30, "threshold of black and silence in `SECONDS`")
	flags.IntVar(&o.trouble, "trouble", 10, "how many in 100 streams go black or silent; 0: none")
	flags.IntVar(&o.starting, "starting", 8, "how many streams may be registered and not watched yet")
	flags.IntVar(&o.yardstick, "yardstick", 1, "how many streams are watched by the specification's method; 0: none")
	flags.StringVar(&o.runtime, "runtime", "inline", "WORKER_RUNTIME of the gateway: inline or process")
	flags.StringVar(&o.out, "out", "", "write results.json and profiles of the gateway (go tool pprof) to this `DIRECTORY`")
	flags.Func("env", "another `NAME=VALUE` of the gateway's environment; may be given several times", func(v string) error {
		o.env = append(o.env, v)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	refuse := func(reason string) (options, error) {
		fmt.Fprintln(errOut, "bench-density:", reason+"; see --help")
		return o, errors.New(reason)
	}
	for word := range strings.SplitSeq(*counts, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > 10_000 {
			return refuse("-n must be numbers from 1 to 10000, separated by commas")
		}
		o.counts = append(o.counts, n)
	}
	switch {
	case flags.NArg() > 0:
		return refuse(fmt.Sprintf("unexpected argument %q", flags.Arg(0)))
	case o.duration < time.Minute && (o.duration != 0 || !o.storms) || o.settle < 0:
		return refuse("-for must be at least 1m, or 0 with -storms, and -settle must not be negative")
	case o.interval < 1 || o.interval > 60 || o.threshold < 1 || o.threshold > 300:
		return refuse("-interval must be 1 to 60 and -threshold 1 to 300")
	case o.trouble < 0 || o.trouble > 100 || o.starting < 1 || o.yardstick < 0 || o.yardstick > 20:
		return refuse("-trouble must be 0 to 100, -starting at least 1, and -yardstick 0 to 20")
	case o.runtime != "inline" && (o.runtime != "process" || o.storms):
		return refuse("-runtime must be inline or process, and inline with -storms")
	}
	return o, nil
}

// measureAll measures each number of streams.
func measureAll(ctx context.Context, o options, out, progress io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "stream-monitor-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The database does not run as root and must be able to enter the directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return err
		}
	}
	fmt.Fprintln(progress, "building")
	binary, err := system.Build(ctx, dir, "profile")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, machine())
	var all []result
	var errs []error
	for _, n := range o.counts {
		if ctx.Err() != nil {
			break
		}
		r, err := measure(ctx, o, n, binary, filepath.Join(dir, strconv.Itoa(n)), progress)
		if err != nil {
			err = fmt.Errorf("%d streams: %w", n, err)
			reason, _, _ := strings.Cut(err.Error(), "\n")
			r.Notes = append(r.Notes, "measured until an error: "+reason)
			fmt.Fprintln(progress, err)
		}
		r.print(out)
		all = append(all, r)
		errs = append(errs, err, writeResults(o, all))
	}
	return errors.Join(errs...)
}

// writeResults writes results.json to the directory of -out, if that is set.
func writeResults(o options, all []result) error {
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
