// Command quality measures how well black and silence are detected: it shows
// the clips of the corpus (package corpus) to the watcher that production
// runs, decoded by the ffmpeg that production calls, on virtual time, and
// compares what it tells with what is true. It is what "make quality" runs.
//
//	corpus.Clip ──▶ playlist, segments ──▶ watch.Watcher ──▶ alerts ──▶ judge ──▶ table
//	  truth ──────────────────────────────────────────────────────────────┘
//
// It ends with 0 when every event over the threshold was told and nothing else
// was, with 1 when not, and with 2 when it was called in a way it does not
// know.
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
	"strings"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// Exit codes.
const (
	exitPassed = 0
	exitFailed = 1 // an event missed or a false alarm, or it could not be done
	exitUsage  = 2
)

const help = `How well are black and silence detected?

  make quality                                 the whole corpus
  go run ./test/program/quality -list                  the clips, and why an alert is expected or not
  go run ./test/program/quality -only "fade of 4 s"    one clip; may be given several times

Each clip is played as a live stream, on virtual time, to the real watcher and
the real ffmpeg, with a check every 1, 5 and 10 s and each of these from %d
starting points. Thresholds are %v for black and silence, the loudness is the
default of a registration. Clips are made on first use (a minute or two for
all), and kept in the user's cache directory.

The table has a line for each event: what is true, and for each interval what
was told, with the errors of its onset and end in milliseconds, the largest of
all starting points (+ is late). Stretches shorter than the threshold share a
line. The exit code is 1 when an event was missed or a false alarm given.

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command runs the program and returns its exit code. Results go to out, errors to
// problems.
func command(ctx context.Context, args []string, out, problems io.Writer) int {
	var only []string
	flags := flag.NewFlagSet("quality", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), help, startPoints, corpus.Threshold)
		flags.PrintDefaults()
	}
	flags.Func("only", "run the clip of this `NAME` only", func(name string) error {
		only = append(only, name)
		return nil
	})
	catalogue := flags.Bool("list", false, "list the clips and what they show, without running them")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitPassed
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(problems, "quality: unexpected argument %q, try --help\n", flags.Arg(0))
		return exitUsage
	}
	items, err := selectItems(only)
	if err != nil {
		fmt.Fprintln(problems, "quality:", err)
		return exitUsage
	}
	screen := newReport(out)
	if *catalogue {
		screen.list(items)
		return exitPassed
	}
	began := time.Now()
	results, err := measure(ctx, screen, items)
	if err != nil {
		fmt.Fprintln(problems, "quality:", err)
		return exitFailed
	}
	screen.table(results)
	t := total(results)
	screen.summary(t, time.Since(began))
	if t.missed > 0 || t.falseAlarms > 0 {
		return exitFailed
	}
	return exitPassed
}

// measure runs the items and shows how far it has come.
func measure(ctx context.Context, screen *report, items []corpus.Item) ([]result, error) {
	l, err := corpus.Open(corpus.Options{})
	if err != nil {
		return nil, err
	}
	unmade := 0
	for _, i := range items {
		if !l.Has(i) {
			unmade++
		}
	}
	screen.begin(len(items), unmade)
	results, err := run(ctx, l, items, screen.advance)
	screen.endProgress()
	return results, err
}

// selectItems returns the items of these names, or all if there are none.
func selectItems(names []string) ([]corpus.Item, error) {
	all := corpus.Items()
	if len(names) == 0 {
		return all, nil
	}
	var picked []corpus.Item
	for _, name := range names {
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
