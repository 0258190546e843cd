//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// runtimes are the worker runtimes, used in turn.
var runtimes = []string{"process", "process", "inline"}

// The times of a schedule count from the registration of the monitors.
const (
	earliestOnset  = 9 * time.Second // a worker whose start was disturbed is watching by then
	latestRecovery = 29 * time.Second
	latestFault    = 24 * time.Second
	threshold      = 3 * time.Second // of both alerts (blackout_threshold_sec, silence_threshold_sec)
	timeStep       = 500 * time.Millisecond
)

// span is a part of a stream's timeline.
type span struct{ from, to time.Duration }

func (s span) String() string { return fmt.Sprintf("%.1f–%.1f s", s.from.Seconds(), s.to.Seconds()) }

// streamScript lists when a stream is black and when it is silent.
type streamScript struct {
	interval      int // check_interval_sec
	black, silent []span
}

// fault is a scheduled fault: a fault type at a time.
type fault struct {
	kind         *faultType
	at, duration time.Duration // since the registration, or the end of the streams
	monitor      int           // index of the monitor whose worker or tool is affected
	gateway      int           // index of the gateway that is affected
	parameter    int           // random, 0 to 999; its use depends on the fault type
}

// gatewayPlan is what a seed decides of a gateway.
type gatewayPlan struct {
	crash       string        // where its first run ends itself, as CRASH_AT has it; empty: nowhere
	clockOffset time.Duration // while no fault changes its clock
}

// schedule is everything that a seed decides.
type schedule struct {
	seed                int
	externalDatabase    bool   // a PostgreSQL server of its own, reached through a link
	mountsDisks         bool   // so that they can be filled
	runtime             string // of the workers
	scripts             []streamScript
	gateways            []gatewayPlan // one or two
	faults, finalFaults []fault       // the latter while stream.ended is delivered
}

// generate makes the schedule of a seed. Without mountsDisks it has no fault that fills a disk.
func generate(seed int, mountsDisks bool) schedule {
	r := rand.New(rand.NewPCG(uint64(seed), 0x5eed))
	s := schedule{seed: seed, externalDatabase: seed%4 != 0, mountsDisks: mountsDisks, runtime: runtimes[seed%len(runtimes)]}
	for range 2 + r.IntN(2) {
		s.scripts = append(s.scripts, generateScript(r))
	}
	s.addGateways(r)
	for i := range 14 {
		// The first four faults step through the fault types in order, so that 20
		// seeds cover all of them.
		n := r.IntN(len(faultTypes))
		if i < 4 {
			n = seed + i*len(faultTypes)/4
		}
		for !faultTypes[n%len(faultTypes)].appliesTo(s) {
			n++
		}
		s.addFault(r, &faultTypes[n%len(faultTypes)])
	}
	if last := &faultTypes[r.IntN(len(faultTypes))]; last.component.atEnd && last.appliesTo(s) {
		f := s.newFault(r, last)
		f.at = time.Duration(r.Int64N(int64(3 * time.Second)))
		s.finalFaults = []fault{f}
	}
	slices.SortStableFunc(s.faults, func(a, b fault) int { return int(a.at - b.at) })
	return s
}

// dropFaults makes a schedule in which nothing goes wrong.
func (s *schedule) dropFaults() {
	s.faults, s.finalFaults = nil, nil
	for n := range s.gateways {
		s.gateways[n].crash = ""
	}
}

// generateScript gives a stream one or two blackouts and one or two silences, three at least. Onsets
// and durations are random multiples of timeStep.
func generateScript(r *rand.Rand) streamScript {
	spans := func(n int) (all []span) {
		from := earliestOnset
		for range n {
			from += time.Duration(r.IntN(3)) * timeStep
			to := from + threshold + time.Duration(5+r.IntN(4))*timeStep
			all = append(all, span{from, to})
			from = to + 3500*time.Millisecond
		}
		return all
	}
	counts := [][2]int{{1, 2}, {2, 1}, {2, 2}}[r.IntN(3)]
	return streamScript{interval: 1 + r.IntN(2), black: spans(counts[0]), silent: spans(counts[1])}
}

// addGateways plans one gateway, which ends at a crash point in its first run in every second
// seed, all points in turn. Every second group of three seeds has another gateway, unless the
// database belongs to the first. Both have clocks that are wrong, and the other one crashes
// while it delivers.
func (s *schedule) addGateways(r *rand.Rand) {
	crashAt := func(n int) gatewayPlan {
		return gatewayPlan{crash: fmt.Sprintf("%s:%d", crashPoints[n%len(crashPoints)], 1+r.IntN(4))}
	}
	s.gateways = []gatewayPlan{{}}
	if s.seed%2 == 0 {
		s.gateways[0] = crashAt(s.seed / 2)
	}
	if s.externalDatabase && s.seed/3%2 == 1 {
		s.gateways = append(s.gateways, crashAt(deliveryPoint+s.seed%(len(crashPoints)-deliveryPoint)))
		for n := range s.gateways {
			s.gateways[n].clockOffset = time.Duration(r.IntN(7201)-3600) * time.Second
		}
	}
}

// newFault makes a fault for which all but its time is chosen.
func (s *schedule) newFault(r *rand.Rand, ft *faultType) fault {
	return fault{
		kind: ft, monitor: r.IntN(len(s.scripts)), gateway: r.IntN(len(s.gateways)), parameter: r.IntN(1000),
		duration: time.Duration(1000*(ft.lasts.least+r.Float64()*(ft.lasts.most-ft.lasts.least))) * time.Millisecond,
	}
}

// addFault adds a fault at a time at which no other fault affects the same component. It adds
// nothing if it finds no such time.
func (s *schedule) addFault(r *rand.Rand, ft *faultType) {
	limits, count := ft.component, 0
	for _, f := range s.faults {
		if f.kind.component == ft.component {
			count++
		}
	}
	for range 20 {
		f := s.newFault(r, ft)
		f.at = s.injectionTime(r)
		collides := slices.ContainsFunc(s.faults, func(other fault) bool {
			return other.kind.component == ft.component && f.at < other.at+other.duration+limits.gap && other.at < f.at+f.duration+limits.gap
		})
		if count < limits.faults && !collides {
			s.faults = append(s.faults, f)
			return
		}
	}
}

// injectionTime returns a random time. Half of the times are within 4 s after
// an alert or a recovery becomes due, while it is detected, reported, stored
// and sent.
func (s *schedule) injectionTime(r *rand.Rand) time.Duration {
	at := 300*time.Millisecond + time.Duration(r.Int64N(int64(latestFault)))
	if r.IntN(2) == 0 {
		script := s.scripts[r.IntN(len(s.scripts))]
		all := slices.Concat(script.black, script.silent)
		episode := all[r.IntN(len(all))]
		due := []time.Duration{episode.from + threshold, episode.to}[r.IntN(2)]
		at = min(due+time.Duration(r.Int64N(int64(4*time.Second))), latestFault)
	}
	return at.Truncate(time.Millisecond)
}

// setting names the database and the runtime.
func (s schedule) setting() string {
	database := "private database"
	if s.externalDatabase {
		database = fmt.Sprintf("%d gateways, external database", len(s.gateways))
	}
	return fmt.Sprintf("%s, %s workers", database, s.runtime)
}

// String formats the schedule for people, one fault a line.
func (s schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s\n", s.seed, s.setting())
	for i, script := range s.scripts {
		fmt.Fprintf(&b, "  monitor %d   checked every %d s; black %v, silent %v\n", i, script.interval, script.black, script.silent)
	}
	for i, g := range s.gateways {
		fmt.Fprintf(&b, "  gateway %d   clock off by %s, crashes at %q\n", i+1, g.clockOffset, g.crash)
	}
	for _, f := range s.faults {
		fmt.Fprintf(&b, "  %8.3f s  %s\n", f.at.Seconds(), f)
	}
	for _, f := range s.finalFaults {
		fmt.Fprintf(&b, "  %8.3f s after the streams have ended: %s\n", f.at.Seconds(), f)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (f fault) String() string {
	text := fmt.Sprintf("%s for %.1f s", f.kind.name, f.duration.Seconds())
	if f.kind.component.perMonitor {
		text += fmt.Sprintf(" of monitor %d", f.monitor)
	}
	if f.kind.component == gateways {
		text += fmt.Sprintf(" (gateway %d)", f.gateway+1)
	}
	return text
}
