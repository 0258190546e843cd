//go:build linux

package main

import (
	"fmt"
	"strings"
)

// account is all that is known of a run, for whoever looks into it.
func (s *site) account(b books, r result) string {
	var text strings.Builder
	heading := func(format string, args ...any) { fmt.Fprintf(&text, "\n== "+format+"\n", args...) }
	fmt.Fprintln(&text, b.plan)
	heading("findings")
	for _, f := range r.findings {
		fmt.Fprintln(&text, f)
	}
	heading("what happened; 0 s is %s", clock(s.zero))
	for _, line := range s.notes {
		fmt.Fprintln(&text, line)
	}
	for _, l := range b.lives {
		fmt.Fprintf(&text, "gateway %d: %s – %s, ready %s, killed %v\n", l.system.PID(), clock(l.began), clock(l.ended), clock(l.ready), l.killed)
	}
	for _, d := range b.deaths {
		fmt.Fprintf(&text, "worker of %s generation %d ended at %s\n", d.monitor, d.generation, clock(d.at))
	}
	for _, a := range b.accounts {
		heading("monitor %d, %s, registered %s: %s", a.number, a.id, clock(a.registered), a.status)
		for _, e := range a.truth {
			fmt.Fprintf(&text, "truth: %s %s – %s\n", e.condition, clock(e.from), clock(e.to))
		}
		for _, k := range a.stored {
			fmt.Fprintf(&text, "event: %s\n", k.body)
		}
		for _, f := range a.fetches {
			fmt.Fprintf(&text, "looked at %s – %s at %s\n", clock(f.from), clock(f.to), clock(f.at))
		}
	}
	heading("deliveries")
	for _, d := range b.deliveries {
		fmt.Fprintf(&text, "%s %s %s accepted %v: %s\n", clock(d.Received), d.MonitorID, d.EventID, d.Accepted, d)
	}
	heading("reports that were accepted")
	for _, a := range s.recorder.all() {
		fmt.Fprintf(&text, "%s %s generation %d: %d checks, events %v\n", clock(a.at), a.monitor, a.generation, a.checks, a.events)
	}
	for i, l := range b.lives {
		heading("log of gateway %d", i+1)
		fmt.Fprintln(&text, l.system.Tail(2000))
	}
	if s.database != nil {
		heading("log of PostgreSQL")
		fmt.Fprintln(&text, s.database.words())
	}
	return text.String()
}
