//go:build linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// line is a result in one line.
func (r result) line() string {
	verdict := "fine"
	if len(r.findings) > 0 {
		verdict = fmt.Sprintf("WRONG, %d findings", len(r.findings))
	}
	database := "own"
	if r.plan.external {
		database = "external"
	}
	return fmt.Sprintf("seed %-4d %-8s %-7s %2d faults, %2d events, %2d delivered again, %d of %d episodes unseen, %4.1f s: %s",
		r.plan.seed, database, r.plan.runtime, total(r.tally.faults), r.tally.events, r.tally.repeated, r.tally.excused, r.tally.episodes, r.took.Seconds(), verdict)
}

// summary is the table at the end. It tells whether the run proves anything: on a
// machine that is too busy nobody sees what is to be told.
func summary(out io.Writer, results []result, took time.Duration) (conclusive bool) {
	all := tally{faults: map[string]int{}, instead: map[string]int{}, missed: map[string]int{}, recoveries: map[string][]time.Duration{}}
	slowest := map[string]string{}
	wrong := []string{}
	for _, r := range results {
		add(all.faults, r.tally.faults)
		add(all.instead, r.tally.instead)
		add(all.missed, r.tally.missed)
		all.events += r.tally.events
		all.deliveries += r.tally.deliveries
		all.lost += r.tally.lost
		all.repeated += r.tally.repeated
		all.episodes += r.tally.episodes
		all.excused += r.tally.excused
		for what, times := range r.tally.recoveries {
			if len(all.recoveries[what]) == 0 || slices.Max(times) > slices.Max(all.recoveries[what]) {
				slowest[what] = fmt.Sprintf("seed %d", r.plan.seed)
			}
			all.recoveries[what] = append(all.recoveries[what], times...)
		}
		if len(r.findings) > 0 {
			wrong = append(wrong, fmt.Sprint(r.plan.seed))
		}
	}
	fmt.Fprintf(out, "\n%-76s %8s %8s %8s\n", "fault", "injected", "missed", "replaced")
	names := map[string]int{}
	for _, k := range kinds {
		names[k.name] = 0
	}
	for _, p := range points {
		names["crash at "+p.name] = 0
	}
	if len(results) == 1 { // what did not happen is no news then
		names = map[string]int{}
		add(names, all.faults)
		add(names, all.missed)
		add(names, all.instead)
	}
	for _, name := range sortedKeys(names) {
		fmt.Fprintf(out, "%-76s %8d %8d %8d\n", name, all.faults[name], all.missed[name], all.instead[name])
	}
	fmt.Fprintf(out, "%-76s %8d %8d %8d\n\n", "all", total(all.faults), total(all.missed), total(all.instead))
	fmt.Fprintf(out, "missed: there was nothing to strike at that moment. replaced: this machine does not allow it.\n\n")
	fmt.Fprintf(out, "%-76s %8s %8s %8s\n", "recovery", "times", "median", "slowest")
	for _, what := range sortedKeys(all.recoveries) {
		times := all.recoveries[what]
		slices.Sort(times)
		fmt.Fprintf(out, "%-76s %8d %6.1f s %6.1f s  %s\n", what, len(times), times[len(times)/2].Seconds(), times[len(times)-1].Seconds(), slowest[what])
	}
	fmt.Fprintf(out, "\n%d seeds, %d faults, %d events, %d deliveries: %d lost, %d delivered again; %d of %d episodes fell into a time in which nobody watched; %s\n",
		len(results), total(all.faults), all.events, all.deliveries, all.lost, all.repeated, all.excused, all.episodes, took.Round(time.Second))
	if conclusive = all.excused*10 <= all.episodes; !conclusive {
		fmt.Fprintln(out, "WRONG: that is more than a tenth: the machine was too busy, and the run proves too little")
	}
	if len(wrong) > 0 {
		fmt.Fprintf(out, "WRONG: seeds %s; see %s, and go run ./test/program/chaos -seed %s -v\n", strings.Join(wrong, ", "), logDir, wrong[0])
	} else if conclusive {
		fmt.Fprintln(out, "fine: the books of all seeds balance")
	}
	return conclusive
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func add(to, from map[string]int) {
	for name, n := range from {
		to[name] += n
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
