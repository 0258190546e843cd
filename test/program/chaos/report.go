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

// line formats a result as one line.
func (r result) line() string {
	verdict := "passed"
	if len(r.findings) > 0 {
		verdict = fmt.Sprintf("FAILED, %d findings", len(r.findings))
	}
	database := "own"
	if r.schedule.externalDatabase {
		database = "external"
	}
	return fmt.Sprintf("seed %-4d %-8s %-7s %2d faults, %2d events, %2d redelivered, %2d messages, %d repeated, %d of %d episodes unobserved, %4.1f s: %s",
		r.schedule.seed, database, r.schedule.runtime, total(r.counters.injected), r.counters.events, r.counters.redelivered, r.counters.messages, total(r.counters.repeated), r.counters.unobserved, r.counters.episodes, r.duration.Seconds(), verdict)
}

// summary prints the totals of all seeds. The run is inconclusive if more than
// a tenth of the episodes were unobserved: the machine was too busy.
func summary(out io.Writer, results []result, took time.Duration) (conclusive bool) {
	all, slowest, failed := sum(results)
	printFaults(out, all, len(results) == 1)
	printRecoveries(out, all.recoveries, slowest)
	fmt.Fprintf(out, "\n%d seeds, %d faults, %d events, %d deliveries: %d lost, %d redelivered; %d of %d episodes were unobserved; %s\n",
		len(results), total(all.injected), all.events, all.deliveries, all.lost, all.redelivered, all.unobserved, all.episodes, took.Round(time.Second))
	fmt.Fprintf(out, "destinations: %d webhooks, %d messages: %d lost; repeated because of a fault: webhook %d",
		all.webhooks, all.messages, all.undelivered, all.repeated["webhook"])
	for _, kind := range channelKinds {
		fmt.Fprintf(out, ", %s %d", kind, all.repeated[string(kind)])
	}
	fmt.Fprintln(out)
	fmt.Fprintf(out, "operations: ")
	for _, o := range operationTypes {
		fmt.Fprintf(out, "%s %d of %d, ", o.name, all.operations[o.name], all.planned[o.name])
	}
	fmt.Fprintf(out, "%.0f s in which nothing but ends was to be sent\n", all.quiet)
	if conclusive = all.unobserved*10 <= all.episodes; !conclusive {
		fmt.Fprintln(out, "FAILED: more than a tenth were unobserved: the machine is too busy, and the run proves too little")
	}
	if len(failed) > 0 {
		fmt.Fprintf(out, "FAILED: seeds %s; see %s, and run go run ./test/program/chaos -seed %s -v\n", strings.Join(failed, ", "), logDir, failed[0])
	} else if conclusive {
		fmt.Fprintln(out, "passed: no seed has a finding")
	}
	return conclusive
}

// sum adds up the counters of all seeds. It returns the seed with the slowest recovery of each
// name, and the seeds with findings.
func sum(results []result) (all counters, slowest map[string]string, failed []string) {
	all = counters{injected: map[string]int{}, replaced: map[string]int{}, missed: map[string]int{}, recoveries: map[string][]time.Duration{}, repeated: map[string]int{}, operations: map[string]int{}, planned: map[string]int{}}
	slowest = map[string]string{}
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
		all.webhooks += r.counters.webhooks
		all.messages += r.counters.messages
		all.undelivered += r.counters.undelivered
		add(all.repeated, r.counters.repeated)
		add(all.operations, r.counters.operations)
		add(all.planned, r.counters.planned)
		all.quiet += r.counters.quiet
		for name, times := range r.counters.recoveries {
			if len(all.recoveries[name]) == 0 || slices.Max(times) > slices.Max(all.recoveries[name]) {
				slowest[name] = fmt.Sprintf("seed %d", r.schedule.seed)
			}
			all.recoveries[name] = append(all.recoveries[name], times...)
		}
		if len(r.findings) > 0 {
			failed = append(failed, fmt.Sprint(r.schedule.seed))
		}
	}
	return all, slowest, failed
}

// printFaults prints how often each fault was injected. One seed has few types of faults, so
// only those are listed.
func printFaults(out io.Writer, all counters, oneSeed bool) {
	fmt.Fprintf(out, "\n%-76s %8s %8s %8s\n", "fault", "injected", "missed", "replaced")
	names := map[string]int{}
	for _, ft := range faultTypes {
		names[ft.name] = 0
	}
	for _, p := range crashPoints {
		names["crash at "+p.name] = 0
	}
	if oneSeed {
		names = map[string]int{}
		add(names, all.injected)
		add(names, all.missed)
		add(names, all.replaced)
	}
	for _, name := range sortedKeys(names) {
		fmt.Fprintf(out, "%-76s %8d %8d %8d\n", name, all.injected[name], all.missed[name], all.replaced[name])
	}
	fmt.Fprintf(out, "%-76s %8d %8d %8d\n\n", "all", total(all.injected), total(all.missed), total(all.replaced))
	fmt.Fprintf(out, "missed: there was no target at that time. replaced: this machine does not allow the fault.\n\n")
}

// printRecoveries prints how long each kind of recovery took, and the seed of the slowest.
func printRecoveries(out io.Writer, recoveries map[string][]time.Duration, slowest map[string]string) {
	fmt.Fprintf(out, "%-76s %8s %8s %8s\n", "recovery", "times", "median", "slowest")
	for _, name := range sortedKeys(recoveries) {
		times := recoveries[name]
		slices.Sort(times)
		fmt.Fprintf(out, "%-76s %8d %6.1f s %6.1f s  %s\n", name, len(times), times[len(times)/2].Seconds(), times[len(times)-1].Seconds(), slowest[name])
	}
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

// report formats everything that is known of a run.
func (env *environment) report(a audit, r result) string {
	var text strings.Builder
	heading := func(format string, args ...any) { fmt.Fprintf(&text, "\n== "+format+"\n", args...) }
	fmt.Fprintln(&text, a.schedule)
	heading("findings")
	for _, f := range r.findings {
		fmt.Fprintln(&text, f)
	}
	heading("log of the run; 0 s is %s", formatTime(env.startedAt))
	for _, line := range env.log {
		fmt.Fprintln(&text, line)
	}
	for _, run := range a.gatewayRuns {
		fmt.Fprintf(&text, "gateway %d, process %d: %s – %s, ready %s, killed %v\n", run.gateway+1, run.service.PID(), formatTime(run.startedAt), formatTime(run.endedAt), formatTime(run.readyAt), run.killed)
	}
	for _, d := range a.workerExits {
		fmt.Fprintf(&text, "worker of %s generation %d ended at %s\n", d.monitor, d.generation, formatTime(d.at))
	}
	for _, m := range a.monitors {
		heading("monitor %d, %s, registered %s: %s", m.number, m.id, formatTime(m.registeredAt), m.status)
		for _, e := range m.expected {
			fmt.Fprintf(&text, "expected: %s %s – %s\n", e.condition, formatTime(e.from), formatTime(e.to))
		}
		for _, k := range m.events {
			fmt.Fprintf(&text, "event: %s\n", k.body)
		}
		for _, request := range m.requests {
			fmt.Fprintf(&text, "segment %s – %s requested at %s\n", formatTime(request.from), formatTime(request.to), formatTime(request.at))
		}
	}
	heading("deliveries")
	for _, d := range a.deliveries {
		fmt.Fprintf(&text, "%s %s %s accepted %v: %s\n", formatTime(d.Received), d.MonitorID, d.EventID, d.Accepted, d)
	}
	a.reportDestinations(&text, heading)
	heading("accepted reports")
	for _, g := range env.gateways {
		for _, report := range g.recorder.reports() {
			fmt.Fprintf(&text, "%s %s generation %d: %d checks, events %v\n", formatTime(report.at), report.monitor, report.generation, report.checks, report.events)
		}
	}
	for _, run := range a.gatewayRuns {
		heading("log of gateway %d, process %d", run.gateway+1, run.service.PID())
		fmt.Fprintln(&text, run.service.Tail(2000))
	}
	if env.database != nil {
		heading("log of PostgreSQL")
		fmt.Fprintln(&text, env.database.logTail())
	}
	return text.String()
}

// reportDestinations formats what the destinations got, and what is stored about them.
func (a *audit) reportDestinations(text io.Writer, heading func(format string, args ...any)) {
	heading("deliveries to the webhook destination")
	for _, d := range a.destinationDeliveries {
		fmt.Fprintf(text, "%s %s %s accepted %v: %s\n", formatTime(d.Received), d.MonitorID, d.EventID, d.Accepted, d)
	}
	heading("incidents and storms")
	for _, i := range a.destinations.incidents {
		fmt.Fprintf(text, "%+v\n", i)
	}
	for _, t := range a.destinations.threads {
		fmt.Fprintf(text, "%+v\n", t)
	}
	for _, k := range a.operations.acknowledgements {
		fmt.Fprintf(text, "%+v\n", k)
	}
	for _, q := range a.operations.quiet {
		fmt.Fprintf(text, "%+v\n", q)
	}
	for _, kind := range sortedKeys(a.destinations.messages) {
		heading("messages at %s", kind)
		for _, m := range a.destinations.messages[kind] {
			fmt.Fprintf(text, "%s posted as %q\n%s", formatTime(m.PostedAt), firstLine(m.Posted), m)
		}
	}
}

// formatTime formats a time of the day in UTC.
func formatTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }
