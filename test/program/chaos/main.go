//go:build linux

// Command chaos injects faults into a running stream-monitor and checks that no
// event is lost and none is sent twice without a cause. "make test-faults" runs it.
//
//	seed ──▶ schedule ──▶ environment ──▶ faults ──▶ recovery ──▶ streams end ──▶ audit ──▶ report
//
//	youtube ◀── yt-dlp, ffmpeg ── workers ── link ── recorder ── gateway ── link ── PostgreSQL
//	                                                                └────── links ── receivers, channels
//
// A seed decides the whole schedule: the database, the runtime, the monitors, when
// their streams go black or silent, and which faults are injected when. It does not
// decide the order in which the processes run, so a run is not repeated exactly.
//
// A third of the seeds have two gateways on one database, each with a clock that is wrong by
// up to an hour. One is killed, or ends itself at a crash point, while the other one lives.
//
// Meanwhile people act. They acknowledge incidents by the API and by the links of messages,
// and silence monitors. They take channels out of a route, and disable and delete destinations.
//
// The gateway is the product, built with the tag "faults", which adds crash points and a
// clock offset (cmd/stream-monitor/internal/faultinject).
//
// The audit (audit.go) compares the streams with the stored and delivered events:
//
//	deliveries.go  every accepted event is delivered, unaltered, in order, and once
//	messages.go    every event reaches the webhook destination, in order and with its
//	               sequence; every incident is told and resolved at every channel, and
//	               nothing comes twice unless a fault lost its record
//	quiet.go       a silence, a changed route or a disabled destination holds back all but
//	               ends; nobody is woken for what somebody has acknowledged
//	episodes.go    every blackout and silence is reported with its true times
//	coverage.go    no monitor is unwatched for longer than the faults explain
//	resources.go   no process, connection, descriptor or file is left behind
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

Each seed starts a service of its own (PostgreSQL, one or two gateways, workers). Two or three
streams go black and silent by a schedule. Meanwhile processes are killed and stopped,
connections cut and slowed, disks filled and clocks set wrong, and people acknowledge
incidents, silence them and change routes and destinations. Then all faults end, the
streams end, and the audit compares what was stored with what was delivered. A seed
takes about 40 s. The report of a seed that failed is %s/seed-N.log.

Some faults need capabilities that not every machine has (mounting a small disk).
Where one is missing, another fault replaces it and the summary counts it.

-mutation NAME breaks something on purpose. The run must then fail:
%s
Flags:
`

// options are the command-line flags.
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

// runCommand parses the flags, runs the seeds and returns the exit code.
func runCommand(ctx context.Context, args []string, out, errOut io.Writer) int {
	var o options
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), help, logDir, listMutations())
		flags.PrintDefaults()
	}
	flags.IntVar(&o.seedCount, "seeds", 20, "how many seeds to run")
	flags.IntVar(&o.firstSeed, "first", 1, "the first seed")
	flags.IntVar(&o.onlySeed, "seed", 0, "run this seed only")
	flags.IntVar(&o.parallel, "parallel", 3, "how many seeds run at a time; each uses half a core")
	flags.BoolVar(&o.scheduleOnly, "schedule", false, "print the schedules and run nothing")
	flags.BoolVar(&o.verbose, "v", false, "print each fault as it happens")
	flags.StringVar(&o.mutation, "mutation", "", "apply this mutation; the run must fail")
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
	case o.mutation != "" && mutations[o.mutation] == nil:
		fmt.Fprintf(errOut, "chaos: there is no mutation %q; choose one of:\n%s", o.mutation, listMutations())
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
		fmt.Fprintln(errOut, "chaos:", err)
		return exitFailed
	}
	if failed > 0 {
		return exitFailed
	}
	return exitOK
}
