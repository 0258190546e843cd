//go:build linux

// Command faults breaks everything that can break around a real stream-monitor,
// while streams go black and silent, and balances the books afterwards. It is
// what "make test-faults" runs.
//
//	seed ──▶ plan ──▶ site ──▶ faults ──▶ calm ──▶ end ──▶ books ──▶ verdict
//	                   │
//	youtube ◀── yt-dlp, ffmpeg ── workers ── pipe ── recorder ── gateway ── pipe ── PostgreSQL
//	                                                                └────── pipe ── sink
//
// Everything of a run is decided by its seed: which database, which runtime,
// how many monitors, when their streams misbehave, and what is killed, stopped,
// cut, slowed, filled or stepped when. What the machine does with it differs
// from run to run, so a seed repeats the plan, not the race.
//
// What is held against the truth afterwards is in judge.go. A pipe is a
// toxiproxy; the gateway is the product, built with the tag "faults", which adds
// the named crash points and the clock that can be stepped (crash.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // a seed went wrong, or it could not be run
	exitUsage  = 2
)

const help = `Is anything lost, or told twice, when things break?

  make test-faults                        20 seeds
  go run ./test/program/chaos -seeds 200         the nightly run
  go run ./test/program/chaos -seed 17 -v        one seed, with its plan, and each fault as it happens
  go run ./test/program/chaos -seed 17 -plan     its plan alone

Each seed starts a service of its own (PostgreSQL, gateway, workers), lets two
or three streams go black and silent on a schedule, and meanwhile kills, stops,
cuts, slows, fills and steps what its plan says. Then all is healed, the streams
end, and the books are balanced: nothing lost, nothing out of order, nothing
twice without a fault that explains it, every story told as it was, nothing left
behind. A seed takes about 40 s. What is known of one that went wrong is in
%s/seed-N.log.

Some faults need what not every machine allows (mounting a small disk, libfaketime).
Where they cannot be had that is said, another fault takes their place, and the
summary counts it.

-break shows that it would notice: it does harm by hand, and the run must fail.
%s
Flags:
`

// options is what the command line says.
type options struct {
	firstSeed, seedCount int
	onlySeed             int
	parallel             int
	scheduleOnly         bool
	verbose              bool
	mutation             string
}

func main() {
	if code, done := runInNamespace(os.Args[1:]); done {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := runCommand(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command is the command: it prints to out and complains to problems.
func runCommand(ctx context.Context, args []string, out, problems io.Writer) int {
	var o options
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), help, logDir, listMutations())
		flags.PrintDefaults()
	}
	flags.IntVar(&o.seedCount, "seeds", 20, "how many seeds to run")
	flags.IntVar(&o.firstSeed, "first", 1, "the first of them")
	flags.IntVar(&o.onlySeed, "seed", 0, "run this seed only")
	flags.IntVar(&o.parallel, "parallel", 3, "how many seeds are run at once; a seed keeps half a core busy")
	flags.BoolVar(&o.scheduleOnly, "plan", false, "print the plans and run nothing")
	flags.BoolVar(&o.verbose, "v", false, "print each fault as it happens")
	flags.StringVar(&o.mutation, "break", "", "do this harm by hand, to see the run fail")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(problems, "faults: what is %q? Try --help.\n", flags.Arg(0))
		return exitUsage
	case o.seedCount < 1 || o.firstSeed < 1 || o.onlySeed < 0 || o.parallel < 1 || o.parallel > 16:
		fmt.Fprintln(problems, "faults: -seeds, -first and -parallel are 1 or more, -parallel at most 16")
		return exitUsage
	case o.mutation != "" && mutations[o.mutation] == nil:
		fmt.Fprintf(problems, "faults: no harm is called %q; there is:\n%s", o.mutation, listMutations())
		return exitUsage
	}
	if o.onlySeed > 0 {
		o.firstSeed, o.seedCount = o.onlySeed, 1
	}
	if o.scheduleOnly {
		for n := o.firstSeed; n < o.firstSeed+o.seedCount; n++ {
			fmt.Fprintln(out, generate(n, allCapabilities))
		}
		return exitOK
	}
	failed, err := runMatrix(ctx, o, out)
	if err != nil {
		fmt.Fprintln(problems, "faults:", err)
		return exitFailed
	}
	if failed > 0 {
		return exitFailed
	}
	return exitOK
}
