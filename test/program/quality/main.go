// Command quality measures how well black and silence are detected. It plays
// the clips of the corpus (package corpus) to the watcher of production on
// virtual time. The segment-decoder and the ffmpeg of production decode them. The command
// compares the alerts with the truth of each clip, and with those that follow from ffmpeg
// alone. "make quality" runs it.
//
//	corpus.Clip ──▶ playlist, segments ──▶ watch.Watcher ──▶ alerts ──▶ evaluate ──▶ table
//	  truth ─────────────────────────────────────────────────────────────────┘
//
// The exit code is 0 if there was exactly one alert for every event over the
// threshold, with its onset and end within their bounds. It is 1 after a missed
// event, a false alarm, an inexact alert, a difference from ffmpeg or an error, and 2
// after a wrong argument.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// Exit codes.
const (
	exitPassed = 0
	exitFailed = 1 // a missed event, a false alarm, an inexact alert, a difference or an error
	exitUsage  = 2
)

const help = `How well are black and silence detected?

  make quality                                 the whole corpus
  go run ./test/program/quality -list          the clips, and why an alert is expected or not
  go run ./test/program/quality -only "fade of 4 s"
                                               one clip; may be given several times
  make quality-random N=300                    N clips with random events in random encodings, of which
                                               segment-decoder must find what ffmpeg finds
  go run ./test/program/quality -only "random 17"
                                               one of those

Each clip is played as a live stream, on virtual time, to the real watcher and
the real segment-decoder and ffmpeg, with a check every 1, 5 and 10 s and each
of these from %d starting points. The thresholds are %v for black and silence. The loudness is
the default of a registration. Clips are encoded on first use (one to two
minutes for all), and kept in the user's cache directory.

The table has a line for each event: the truth, and the alert at each check
interval. It shows the errors of the alert's onset and end in milliseconds, the
largest of all starting points (+ is late). Black and silence shorter than the
threshold share a line. The exit code is 1 after a missed event, a false alarm, an
onset or end that is off by more than %d ms (more in a fade), and if an event, or
an instant by more than %v, is not that of ffmpeg alone.

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command runs the program and returns its exit code. It writes results to out
// and errors to errOut.
func command(ctx context.Context, args []string, out, errOut io.Writer) int {
	var only []string
	flags := flag.NewFlagSet("quality", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), help, startPoints, corpus.Threshold, cutBound.Milliseconds(), sameAsFFmpeg)
		flags.PrintDefaults()
	}
	flags.Func("only", "run the clip of this `NAME` only", func(name string) error {
		only = append(only, name)
		return nil
	})
	listOnly := flags.Bool("list", false, "list the clips and what they show, without running them")
	random := flags.Int("random", 0, "compare on `N` random clips in place of the corpus")
	seed := flags.Uint64("seed", 0, "of the first random clip")
	analyser := flags.String("analyser", "both", "decoder: segment-decoder, and ffmpeg for what it leaves; ffmpeg; or both: compare them")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitPassed
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(errOut, "quality: unexpected argument %q, try --help\n", flags.Arg(0))
		return exitUsage
	case !slices.Contains([]string{"decoder", "ffmpeg", "both"}, *analyser):
		fmt.Fprintf(errOut, "quality: there is no analyser %q, try --help\n", *analyser)
		return exitUsage
	}
	items, err := selectItems(only)
	if err != nil {
		fmt.Fprintln(errOut, "quality:", err)
		return exitUsage
	}
	if *random > 0 {
		items = nil
		for n := range uint64(*random) {
			items = append(items, corpus.Random(*seed+n))
		}
	}
	p := newPrinter(out)
	if *listOnly {
		p.list(items)
		return exitPassed
	}
	start := time.Now()
	results, err := measure(ctx, p, *analyser, items)
	if err != nil {
		fmt.Fprintln(errOut, "quality:", err)
		return exitFailed
	}
	passed := judge(p, *analyser, isRandom(items[0]), results)
	p.took(time.Since(start))
	if !passed {
		return exitFailed
	}
	return exitPassed
}

// judge prints the results. It reports whether no alert is missed, false, inexact or other than
// by ffmpeg. Random clips have no truth, so they are compared with ffmpeg only.
func judge(p *printer, analyser string, random bool, results []result) (passed bool) {
	t, c, wrong := total(results), totalComparison(results), inexact(results)
	if !random {
		p.table(results)
		p.inexact(wrong)
		p.summary(t)
	}
	if analyser != "ffmpeg" {
		p.comparison(c)
	}
	return t.missed == 0 && t.falseAlarms == 0 && len(wrong) == 0 && len(c.differences) == 0
}

// measure runs the items and prints its progress. Random clips are not kept.
func measure(ctx context.Context, p *printer, analyser string, items []corpus.Item) ([]result, error) {
	var options corpus.Options
	if isRandom(items[0]) {
		dir, err := os.MkdirTemp("", "quality-")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		options.CacheDir = dir
	}
	l, err := corpus.Open(options)
	if err != nil {
		return nil, err
	}
	t := tools{ffmpeg: l.FFmpeg(), compare: analyser == "both"}
	if analyser != "ffmpeg" {
		path, err := testtools.Decoder()
		if err != nil {
			return nil, err
		}
		t.pool = newPool(path)
		defer t.pool.Close()
	}
	missing := 0
	for _, i := range items {
		if !l.Has(i) {
			missing++
		}
	}
	p.begin(len(items), missing)
	results, err := run(ctx, l, t, items, p.advance)
	p.endProgress()
	return results, err
}

// selectItems returns the items of these names. Without names it returns all.
func selectItems(names []string) ([]corpus.Item, error) {
	all := corpus.Items()
	if len(names) == 0 {
		return all, nil
	}
	var picked []corpus.Item
	for _, name := range names {
		if number, is := strings.CutPrefix(name, randomName); is {
			seed, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("no random clip is called %q", name)
			}
			picked = append(picked, corpus.Random(seed))
			continue
		}
		n := slices.IndexFunc(all, func(i corpus.Item) bool { return strings.EqualFold(i.Name, name) })
		if n < 0 {
			return nil, fmt.Errorf("no clip is called %q%s; -list shows all names", name, suggestions(all, name))
		}
		picked = append(picked, all[n])
	}
	return picked, nil
}

// suggestions lists the names that contain the unknown one.
func suggestions(all []corpus.Item, name string) string {
	var names []string
	for _, i := range all {
		if strings.Contains(strings.ToLower(i.Name), strings.ToLower(name)) {
			names = append(names, fmt.Sprintf("%q", i.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", but " + strings.Join(names, ", ")
}
