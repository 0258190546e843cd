//go:build linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
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
	c := r.counters
	return fmt.Sprintf("seed %-4d %-8s %-7s %2d faults, %2d events, %2d messages, %2d repeated, %d of %d episodes unreported, %4.1f s: %s",
		r.schedule.seed, database, r.schedule.runtime, total(c.injected), c.events, c.messages, c.repeated, c.unreported, c.episodes, r.duration.Seconds(), verdict)
}

// summary prints the totals of all seeds. The run is inconclusive if more than
// a tenth of the episodes were not reported: the machine was too busy.
func summary(out io.Writer, results []result, took time.Duration) (conclusive bool) {
	all, failed := sum(results)
	fmt.Fprintf(out, "\n%-76s %8s %8s\n", "fault or operation", "done", "missed")
	for _, name := range sortedKeys(all.injected) {
		fmt.Fprintf(out, "%-76s %8d %8d\n", name, all.injected[name], all.missed[name])
	}
	fmt.Fprintf(out, "%-76s %8d %8d\n\nmissed: there was no target at that time.\n\n", "all", total(all.injected), total(all.missed))
	fmt.Fprintf(out, "%d seeds, %d events, %d deliveries, %d messages: %d lost, %d repeated because of a fault; %d of %d episodes were not reported; %s\n",
		len(results), all.events, all.deliveries, all.messages, all.lost, all.repeated, all.unreported, all.episodes, took.Round(time.Second))
	if conclusive = all.unreported*10 <= all.episodes; !conclusive {
		fmt.Fprintln(out, "FAILED: more than a tenth were not reported: the machine is too busy, and the run proves too little")
	}
	if len(failed) > 0 {
		fmt.Fprintf(out, "FAILED: seeds %s; see %s, and run go run ./test/program/chaos -seed %s -v\n", strings.Join(failed, ", "), logDir, failed[0])
	} else if conclusive {
		fmt.Fprintln(out, "passed: no seed has a finding")
	}
	return conclusive
}

// sum adds up the counters of all seeds, and returns the seeds with findings. One seed has few
// types of faults; several list those that were never injected, too.
func sum(results []result) (all counters, failed []string) {
	all = counters{injected: map[string]int{}, missed: map[string]int{}}
	if len(results) > 1 {
		for _, ft := range faultTypes {
			all.injected[ft.name] = 0
		}
		for _, p := range crashPoints {
			all.injected["crash at "+p.name] = 0
		}
	}
	for _, r := range results {
		for name, n := range r.counters.injected {
			all.injected[name] += n
		}
		for name, n := range r.counters.missed {
			all.injected[name] += 0
			all.missed[name] += n
		}
		all.events += r.counters.events
		all.deliveries += r.counters.deliveries
		all.messages += r.counters.messages
		all.lost += r.counters.lost
		all.repeated += r.counters.repeated
		all.episodes += r.counters.episodes
		all.unreported += r.counters.unreported
		if len(r.findings) > 0 {
			failed = append(failed, fmt.Sprint(r.schedule.seed))
		}
	}
	return all, failed
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// report formats everything that is known of a run.
func (env *environment) report() string {
	var text strings.Builder
	a := &env.audit
	heading := func(format string, args ...any) { fmt.Fprintf(&text, "\n== "+format+"\n", args...) }
	fmt.Fprintln(&text, a.schedule)
	heading("findings")
	fmt.Fprintln(&text, strings.Join(a.findings, "\n"))
	heading("log of the run; 0 s is %s", formatTime(env.startedAt))
	fmt.Fprintln(&text, strings.Join(env.log, "\n"))
	for _, m := range a.monitors {
		heading("monitor %d, %s, registered %s: %s", m.number, m.id, formatTime(m.registeredAt), m.status)
		for _, e := range m.expected {
			fmt.Fprintf(&text, "expected: %s %s – %s\n", e.condition, formatTime(e.from), formatTime(e.to))
		}
		for _, e := range m.events {
			fmt.Fprintf(&text, "event of incident %q: %s\n", e.incident, e.body)
		}
		for _, request := range m.requests {
			fmt.Fprintf(&text, "segment of %s requested at %s\n", formatTime(request.from), formatTime(request.at))
		}
	}
	heading("deliveries to the callbacks, and then to the webhook destination")
	for _, d := range slices.Concat(a.callbacks, a.webhooks) {
		fmt.Fprintf(&text, "%s %s %s accepted %v: %s\n", formatTime(d.Received), d.MonitorID, d.EventID, d.Accepted, d)
	}
	heading("incidents and storms, and what people did")
	for _, i := range a.incidents {
		fmt.Fprintf(&text, "%+v\n", i)
	}
	fmt.Fprintf(&text, "%+v, a destination deleted at %s\n", a.acknowledgements, formatTime(a.deletedAt))
	for _, name := range sortedKeys(a.messages) {
		heading("messages at %s", name)
		for key, t := range a.threads {
			if key.channel == name {
				fmt.Fprintf(&text, "%s: %+v\n", key.about, t)
			}
		}
		for _, m := range a.messages[name] {
			fmt.Fprintf(&text, "%s posted as %q\n%s", formatTime(m.PostedAt), firstLine(m.Posted), m)
		}
	}
	for _, run := range a.gatewayRuns {
		heading("gateway %d, process %d: %s – %s, ready %s, killed %v; its log:", run.gateway+1, run.service.PID(),
			formatTime(run.startedAt), formatTime(run.endedAt), formatTime(run.readyAt), run.killed)
		fmt.Fprintln(&text, run.service.Tail(2000))
	}
	if env.database != nil {
		heading("log of PostgreSQL")
		log, _ := os.ReadFile(env.database.log.Name())
		fmt.Fprintf(&text, "%s\n", log[max(0, len(log)-4<<10):])
	}
	return text.String()
}

// formatTime formats a time of the day in UTC.
func formatTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }
