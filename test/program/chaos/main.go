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
// Some seeds have two gateways on one database, whose clocks are wrong by up to an hour.
//
// Each seed runs in a process of its own, so that every process below it is of its service.
// The gateway is the product, built with the tag "faults", which adds crash points, a clock
// offset and a file of the events that were accepted (cmd/stream-monitor/internal/faultinject).
//
// The audit (audit.go) checks what arrived. It does not predict which message must come when:
//
//	events     every accepted event is stored and delivered, in order, and again only if a fault
//	           lost its record; each blackout and silence is told once, with its true times
//	threads    somebody is told of every incident, every thread shows the end of its incident,
//	           and no message comes again without a fault
//	coverage   no monitor is unwatched for longer than the faults explain
//	processes  no process, connection or file is left behind
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

const help = `Injects faults into stream-monitor and checks that no event is lost or sent twice.

  make test-faults                          20 seeds
  go run ./test/program/chaos -seeds 200    the nightly run
  go run ./test/program/chaos -seed 17 -v   one seed, with its schedule and each fault as it happens
  go run ./test/program/chaos -mutate       a proof that the audit finds what it is for

A seed takes about 45 s. The report of a seed that failed is %s/seed-N.log. A run with -mutate has
no faults; instead it commits three violations, and it passes only if the audit finds them all.

`

// options are the command-line flags.
type options struct {
	seeds, seed int
	verbose     bool
	mutates     bool
	dir         string // of the process of one seed
}

func main() {
	var o options
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), help, logDir)
		flag.PrintDefaults()
	}
	flag.IntVar(&o.seeds, "seeds", 20, "how many seeds to run, from 1 on")
	flag.IntVar(&o.seed, "seed", 0, "run this seed only")
	flag.BoolVar(&o.verbose, "v", false, "print each fault as it happens")
	flag.BoolVar(&o.mutates, "mutate", false, "break something on purpose, which the audit must find")
	flag.StringVar(&o.dir, "dir", "", "run -seed in this process, in a directory that chaos has prepared")
	flag.Parse()
	if flag.NArg() > 0 || o.seeds < 1 || o.seed < 0 {
		fmt.Fprintln(os.Stderr, "chaos: -seeds must be at least 1, and there are no arguments; see -help")
		os.Exit(2)
	}
	if o.mutates && o.seed == 0 {
		o.seed = 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	var err error
	if o.dir != "" {
		err = runSeed(ctx, o)
	} else {
		err = runSeeds(ctx, o)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// parallel is how many seeds run at a time. Each uses half a core.
const parallel = 3

// logDir holds one report for each seed that failed.
const logDir = "bin/faults"

// result is the outcome of one seed, which its process writes as JSON.
type result struct {
	Seed     int
	Setting  string // database and runtime
	Findings []string
	Numbers  map[string]int // of what was done and audited, by name
}

// resultFile is where the process of a seed leaves its result, in its directory.
const resultFile = "result.json"

// runSeeds runs each seed in a process of its own, some at a time, and prints the results.
// Error: a seed could not be run, or has a finding, or all of them prove too little.
func runSeeds(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL runs as another user
		return err
	}
	if _, err = system.Build(ctx, dir, "faults"); err != nil {
		return err
	}
	if _, err = livestream.Open(livestream.Options{}); err != nil { // fills the cache before all need it
		return err
	}
	first, last := 1, o.seeds
	if o.seed > 0 {
		first, last = o.seed, o.seed
	}
	began := time.Now()
	results := make([]result, last-first+1)
	slots := make(chan struct{}, parallel)
	var running sync.WaitGroup
	for i := range results {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			seedBegan := time.Now()
			results[i] = runProcess(ctx, o, first+i, filepath.Join(dir, strconv.Itoa(first+i)))
			fmt.Printf("%s, %.1f s\n", results[i], time.Since(seedBegan).Seconds())
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if o.mutates {
		return checkMutations(results[0].Findings)
	}
	return summarize(results, time.Since(began))
}

// runProcess runs a seed in a process of its own. Where this machine allows it, the process has a
// mount namespace in which it may mount disks.
func runProcess(ctx context.Context, o options, seed int, dir string) result {
	command := func(namespaces *syscall.SysProcAttr) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "/proc/self/exe", "-seed", strconv.Itoa(seed), "-dir", dir,
			"-v="+strconv.FormatBool(o.verbose), "-mutate="+strconv.FormatBool(o.mutates))
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, namespaces
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = time.Minute
		return cmd
	}
	namespaces := &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	if os.Geteuid() != 0 { // keeps the user's own id and adds the right to mount
		namespaces = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
		}
	}
	cmd := command(namespaces)
	err := cmd.Start()
	if err != nil {
		cmd = command(nil)
		err = cmd.Start()
	}
	if err == nil {
		err = cmd.Wait()
	}
	r := result{}
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(filepath.Join(dir, resultFile)); err == nil {
			err = json.Unmarshal(text, &r)
		}
	}
	if err != nil {
		return result{Seed: seed, Findings: []string{"the seed could not be run: " + err.Error()}}
	}
	return r
}

func (r result) String() string {
	if len(r.Findings) == 0 {
		return fmt.Sprintf("seed %-3d %s: passed", r.Seed, r.Setting)
	}
	findings := strings.ReplaceAll(strings.Join(r.Findings, "\n"), "\n", "\n    ")
	return fmt.Sprintf("seed %-3d %s: FAILED\n    %s\n   ", r.Seed, r.Setting, findings)
}

// summarize prints the totals of all seeds. Error: a seed has a finding, or more than a tenth of
// the episodes were not reported, because the machine was too busy.
func summarize(results []result, took time.Duration) error {
	numbers := map[string]int{}
	if len(results) > 1 { // those that were never injected, too
		for _, ft := range faultTypes {
			numbers[ft.name] = 0
		}
	}
	var failed []string
	for _, r := range results {
		for name, n := range r.Numbers {
			numbers[name] += n
		}
		if len(r.Findings) > 0 {
			failed = append(failed, strconv.Itoa(r.Seed))
		}
	}
	fmt.Printf("\n%d seeds in %s\n", len(results), took.Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		fmt.Printf("%6d  %s\n", numbers[name], name)
	}
	switch {
	case len(failed) > 0:
		return fmt.Errorf("seeds %s failed; see %s, and run go run ./test/program/chaos -seed %s -v", strings.Join(failed, ", "), logDir, failed[0])
	case numbers[unreported]*10 > numbers[episodes]:
		return errors.New("more than a tenth of the episodes were not reported: the machine is too busy, and the run proves too little")
	}
	fmt.Println("passed: no seed has a finding")
	return nil
}
