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
	if r.schedule.externalDatabase {
		database = "external"
	}
	return fmt.Sprintf("seed %-4d %-8s %-7s %2d faults, %2d events, %2d delivered again, %d of %d episodes unseen, %4.1f s: %s",
		r.schedule.seed, database, r.schedule.runtime, total(r.counters.injected), r.counters.events, r.counters.redelivered, r.counters.unobserved, r.counters.episodes, r.duration.Seconds(), verdict)
}

// summary is the table at the end. It tells whether the run proves anything: on a
// machine that is too busy nobody sees what is to be told.
func summary(out io.Writer, results []result, took time.Duration) (conclusive bool) {
	all := counters{injected: map[string]int{}, replaced: map[string]int{}, missed: map[string]int{}, recoveries: map[string][]time.Duration{}}
	slowest := map[string]string{}
	wrong := []string{}
	for _, r := range results {
		add(all.injected, r.counters.injected)
		add(all.replaced, r.counters.replaced)
		add(all.missed, r.counters.missed)
		all.events += r.counters.events
		all.deliveries += r.counters.deliveries
		all.lost += r.counters.lost
		all.redelivered += r.counters.redelivered
		all.episodes += r.counters.episodes
		all.unobserved += r.counters.unobserved
		for what, times := range r.counters.recoveries {
			if len(all.recoveries[what]) == 0 || slices.Max(times) > slices.Max(all.recoveries[what]) {
				slowest[what] = fmt.Sprintf("seed %d", r.schedule.seed)
			}
			all.recoveries[what] = append(all.recoveries[what], times...)
		}
		if len(r.findings) > 0 {
			wrong = append(wrong, fmt.Sprint(r.schedule.seed))
		}
	}
	fmt.Fprintf(out, "\n%-76s %8s %8s %8s\n", "fault", "injected", "missed", "replaced")
	names := map[string]int{}
	for _, ft := range faultTypes {
		names[ft.name] = 0
	}
	for _, p := range crashPoints {
		names["crash at "+p.name] = 0
	}
	if len(results) == 1 { // what did not happen is no news then
		names = map[string]int{}
		add(names, all.injected)
		add(names, all.missed)
		add(names, all.replaced)
	}
	for _, name := range sortedKeys(names) {
		fmt.Fprintf(out, "%-76s %8d %8d %8d\n", name, all.injected[name], all.missed[name], all.replaced[name])
	}
	fmt.Fprintf(out, "%-76s %8d %8d %8d\n\n", "all", total(all.injected), total(all.missed), total(all.replaced))
	fmt.Fprintf(out, "missed: there was nothing to strike at that moment. replaced: this machine does not allow it.\n\n")
	fmt.Fprintf(out, "%-76s %8s %8s %8s\n", "recovery", "times", "median", "slowest")
	for _, what := range sortedKeys(all.recoveries) {
		times := all.recoveries[what]
		slices.Sort(times)
		fmt.Fprintf(out, "%-76s %8d %6.1f s %6.1f s  %s\n", what, len(times), times[len(times)/2].Seconds(), times[len(times)-1].Seconds(), slowest[what])
	}
	fmt.Fprintf(out, "\n%d seeds, %d faults, %d events, %d deliveries: %d lost, %d delivered again; %d of %d episodes fell into a time in which nobody watched; %s\n",
		len(results), total(all.injected), all.events, all.deliveries, all.lost, all.redelivered, all.unobserved, all.episodes, took.Round(time.Second))
	if conclusive = all.unobserved*10 <= all.episodes; !conclusive {
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

// account is all that is known of a run, for whoever looks into it.
func (env *environment) report(a audit, r result) string {
	var text strings.Builder
	heading := func(format string, args ...any) { fmt.Fprintf(&text, "\n== "+format+"\n", args...) }
	fmt.Fprintln(&text, a.schedule)
	heading("findings")
	for _, f := range r.findings {
		fmt.Fprintln(&text, f)
	}
	heading("what happened; 0 s is %s", formatTime(env.startedAt))
	for _, line := range env.log {
		fmt.Fprintln(&text, line)
	}
	for _, run := range a.gatewayRuns {
		fmt.Fprintf(&text, "gateway %d: %s – %s, ready %s, killed %v\n", run.service.PID(), formatTime(run.startedAt), formatTime(run.endedAt), formatTime(run.readyAt), run.killed)
	}
	for _, d := range a.workerExits {
		fmt.Fprintf(&text, "worker of %s generation %d ended at %s\n", d.monitor, d.generation, formatTime(d.at))
	}
	for _, m := range a.monitors {
		heading("monitor %d, %s, registered %s: %s", m.number, m.id, formatTime(m.registeredAt), m.status)
		for _, e := range m.expected {
			fmt.Fprintf(&text, "truth: %s %s – %s\n", e.condition, formatTime(e.from), formatTime(e.to))
		}
		for _, k := range m.events {
			fmt.Fprintf(&text, "event: %s\n", k.body)
		}
		for _, request := range m.requests {
			fmt.Fprintf(&text, "looked at %s – %s at %s\n", formatTime(request.from), formatTime(request.to), formatTime(request.at))
		}
	}
	heading("deliveries")
	for _, d := range a.deliveries {
		fmt.Fprintf(&text, "%s %s %s accepted %v: %s\n", formatTime(d.Received), d.MonitorID, d.EventID, d.Accepted, d)
	}
	heading("reports that were accepted")
	for _, report := range env.recorder.reports() {
		fmt.Fprintf(&text, "%s %s generation %d: %d checks, events %v\n", formatTime(report.at), report.monitor, report.generation, report.checks, report.events)
	}
	for i, run := range a.gatewayRuns {
		heading("log of gateway %d", i+1)
		fmt.Fprintln(&text, run.service.Tail(2000))
	}
	if env.database != nil {
		heading("log of PostgreSQL")
		fmt.Fprintln(&text, env.database.logTail())
	}
	return text.String()
}

func formatTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }
