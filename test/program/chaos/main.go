//go:build linux

// Command chaos injects faults into a running stream-monitor and checks that no
// event is lost and none is sent twice without a cause. "make test-faults" runs it.
//
//	seed ──▶ schedule ──▶ environment ──▶ faults ──▶ recovery ──▶ streams end ──▶ audit ──▶ report
//
//	youtube ◀── yt-dlp, ffmpeg ── workers ── link ── gateway ── link ── PostgreSQL
//	                                                    └────── links ── receivers, channels
//
// A seed decides the whole schedule: the database, the runtime, the monitors, when
// their streams go black or silent, and which faults are injected when. It does not
// decide the order in which the processes run, so a run is not repeated exactly.
//
// A third of the seeds have two gateways on one database, each with a clock that is wrong by
// up to an hour. One is killed, or ends itself at a crash point, while the other one lives.
// Meanwhile people acknowledge incidents and delete a destination.
//
// The gateway is the product, built with the tag "faults", which adds crash points, a clock
// offset and a file of the events that were accepted (cmd/stream-monitor/internal/faultinject).
//
// The audit (audit.go) checks what arrived. It does not predict which message must come when.
//
//	events.go    every accepted event is stored and delivered: unaltered, in order, and again
//	             only if a fault lost its record; each blackout and silence is told once, with
//	             its true times
//	messages.go  somebody is told of every incident, every thread shows the end of its incident,
//	             and no message comes again without a fault
//	quiet.go     nobody is woken for what somebody has acknowledged, and a deleted destination
//	             gets nothing
//	coverage.go  no monitor is unwatched for longer than the faults explain
//	evidence.go  the first alert of a monitor has evidence, and every file has its bytes
//	resources.go no process, connection, descriptor or file is left behind
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
	exitFailed = 1 // a seed failed or could not be run
	exitUsage  = 2
)

const help = `Injects faults into stream-monitor and checks that no event is lost or sent twice.

  make test-faults                                20 seeds
  go run ./test/program/chaos -seeds 200          the nightly run
  go run ./test/program/chaos -seed 17 -v         one seed, with its schedule and each fault as it happens
  go run ./test/program/chaos -seed 17 -schedule  only the schedule of a seed
  go run ./test/program/chaos -seed 17 -mutate    a proof that the audit finds what it is for

Each seed starts a service of its own (PostgreSQL, one or two gateways, workers). Two or three
streams go black and silent by a schedule. Meanwhile processes are killed and stopped,
connections cut and slowed, disks filled and clocks set wrong, and people acknowledge
incidents and delete a destination. Then all faults end, the streams end, and the audit
checks what was stored and what arrived. A seed takes about 40 s. The report of a seed
that failed is %s/seed-N.log.

Disks are filled only where this program may mount small ones.

With -mutate a run has no faults. It deletes an event, delivers one again, and lets a channel
forget to tell of a recovery. It passes only if the audit finds all three.

`

// options are the command-line flags.
type options struct {
	firstSeed, seedCount int
	onlySeed             int
	parallel             int
	scheduleOnly         bool
	verbose              bool
	mutates              bool
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

// runCommand parses the flags, runs the seeds and returns the exit code.
func runCommand(ctx context.Context, args []string, out, errOut io.Writer) int {
	var o options
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), help, logDir)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.seedCount, "seeds", 20, "how many seeds to run")
	flags.IntVar(&o.firstSeed, "first", 1, "the first seed")
	flags.IntVar(&o.onlySeed, "seed", 0, "run this seed only")
	flags.IntVar(&o.parallel, "parallel", 3, "how many seeds run at a time; each uses half a core")
	flags.BoolVar(&o.scheduleOnly, "schedule", false, "print the schedules and run nothing")
	flags.BoolVar(&o.verbose, "v", false, "print each fault as it happens")
	flags.BoolVar(&o.mutates, "mutate", false, "break something on purpose, which the audit must find")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(errOut, "chaos: unexpected argument %q; see --help\n", flags.Arg(0))
		return exitUsage
	case o.seedCount < 1 || o.firstSeed < 1 || o.onlySeed < 0 || o.parallel < 1 || o.parallel > 16:
		fmt.Fprintln(errOut, "chaos: -seeds, -first and -parallel must be at least 1, -parallel at most 16")
		return exitUsage
	}
	if o.onlySeed > 0 {
		o.firstSeed, o.seedCount = o.onlySeed, 1
	}
	if o.scheduleOnly {
		for n := o.firstSeed; n < o.firstSeed+o.seedCount; n++ {
			fmt.Fprintln(out, generate(n, true))
		}
		return exitOK
	}
	failed, err := runMatrix(ctx, o, out)
	if err != nil {
		fmt.Fprintln(errOut, "chaos:", err)
		return exitFailed
	}
	if failed > 0 {
		return exitFailed
	}
	return exitOK
}
