//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// exact is how far an instant that comes from the media may be from the truth,
// as in the acceptance tests.
const exact = 500 * time.Millisecond

// tally is what the summary counts.
type tally struct {
	faults  map[string]int
	instead map[string]int // of which kind that cannot be had here
	missed  map[string]int // found nothing to strike
	crashes map[string]int

	events, deliveries, lost int
	repeated                 int // deliveries of what had been accepted before
	episodes, excused        int // that nobody could see
	recoveries               map[string][]time.Duration
}

// judge holds the books against the truth.
func (b *books) judge() (findings []string, t tally) {
	findings = append(findings, b.findings...)
	t = tally{faults: map[string]int{}, instead: map[string]int{}, missed: map[string]int{}, crashes: map[string]int{}, recoveries: map[string][]time.Duration{}}
	b.count(&t)
	findings = append(findings, b.gatewayTroubles...)
	findings = append(findings, b.ends()...)
	findings = append(findings, b.balance(&t)...)
	findings = append(findings, b.stamps()...)
	findings = append(findings, b.inOrder()...)
	findings = append(findings, b.repeats(&t)...)
	for i := range b.accounts {
		for _, f := range b.story(&b.accounts[i], &t) {
			findings = append(findings, fmt.Sprintf("monitor %d: %s", i, f))
		}
	}
	b.recover(&t)
	return findings, t
}

// count counts what was injected.
func (b *books) count(t *tally) {
	for _, i := range b.injected {
		if i.name != "" {
			t.faults[i.name]++
		}
	}
	for _, name := range b.missed {
		t.missed[name]++
	}
	for _, k := range b.plan.strikes {
		if k.instead != "" {
			t.instead[k.instead]++
		}
	}
	for n, l := range b.lives {
		if l.crash && n < len(b.plan.crashes) {
			point := "crash at " + b.plan.crashes[n].point
			if l.killed || l.stopped {
				t.missed[point]++
			} else {
				t.faults[point]++
			}
		}
	}
}

// ends: a gateway ends when it is told to, or is killed; one that starts while
// there is no database gives up, and is started again.
func (b *books) ends() (findings []string) {
	for n, l := range b.lives {
		if l.ended.IsZero() || l.killed || l.stopped || l.crashed {
			continue
		}
		excused := l.ready.IsZero() && slices.ContainsFunc(b.injected, func(i injection) bool {
			return (i.subject == databaseSubject || i.subject == diskSubject || i.name == powerCut) &&
				i.from.Before(l.ended) && i.to.After(l.began.Add(-comingBack))
		})
		if !excused {
			findings = append(findings, fmt.Sprintf("gateway %d ended by itself at %s; its log ends:\n%s", n+1, clock(l.ended), l.system.Tail(5)))
		}
	}
	return findings
}

// comingBack is how long a database takes to answer that has been killed.
const comingBack = 3 * time.Second

// balance: accepted = delivered + pending + failed, and in the calm after all
// faults nothing is pending, and nothing has failed.
func (b *books) balance(t *tally) (findings []string) {
	stored := map[string]record{}
	for _, a := range b.accounts {
		for _, r := range a.stored {
			stored[r.id] = r
			t.events++
			if r.status != "sent" {
				findings = append(findings, fmt.Sprintf("monitor %d: %s %s is %s after %d attempts", a.number, r.kind, r.id, r.status, r.attempts))
			}
		}
		if a.history != len(a.stored) {
			findings = append(findings, fmt.Sprintf("monitor %d: its history lists %d events, the database holds %d", a.number, a.history, len(a.stored)))
		}
	}
	for id := range b.accepted {
		if _, found := stored[id]; !found {
			t.lost++
			findings = append(findings, fmt.Sprintf("lost: event %s was accepted and is not in the database", id))
		}
	}
	delivered := map[string]bool{}
	for _, d := range b.deliveries {
		t.deliveries++
		r, found := stored[d.EventID]
		switch {
		case !found:
			findings = append(findings, fmt.Sprintf("%s %s was delivered and is not in the database", d.EventType, d.EventID))
		case r.body != string(d.Body):
			findings = append(findings, fmt.Sprintf("attempt %d of event %s has other bytes than are stored", d.Attempt, d.EventID))
		case !d.Verified:
			findings = append(findings, fmt.Sprintf("attempt %d of event %s is not verified: %s", d.Attempt, d.EventID, d.Problem))
		}
		delivered[d.EventID] = delivered[d.EventID] || d.Accepted
	}
	for id, r := range stored {
		if r.status == "sent" && !delivered[id] {
			t.lost++
			findings = append(findings, fmt.Sprintf("lost: %s %s counts as sent and has never been accepted", r.kind, id))
		}
	}
	return findings
}

// inOrder: per monitor first in, first out, and nothing is tried before what
// comes before it has been accepted.
func (b *books) inOrder() (findings []string) {
	for _, a := range b.accounts {
		done := map[string]bool{}
		next := 0
		for _, d := range b.deliveries {
			if d.MonitorID != a.id {
				continue
			}
			at := slices.IndexFunc(a.stored, func(r record) bool { return r.id == d.EventID })
			if at > next {
				findings = append(findings, fmt.Sprintf("monitor %d: %s was delivered before %s, which comes first", a.number, d.EventType, a.stored[next].kind))
				next = at
			}
			if d.Accepted {
				done[d.EventID] = true
			}
			for next < len(a.stored) && done[a.stored[next].id] {
				next++
			}
		}
	}
	return findings
}

// A fault explains a repetition if it is this near to the delivery, whose outcome
// is recorded within milliseconds, or else again and again until the lease is
// over; and if the repetition comes before it can have had other reasons.
const (
	near = time.Second
	soon = 35 * time.Second // a lease, and a margin
)

// repeats: whatever is delivered again after it had been accepted has a fault
// that explains it.
func (b *books) repeats(t *tally) (findings []string) {
	first := map[string]time.Time{}
	for _, d := range b.deliveries {
		at, again := first[d.EventID]
		if again {
			t.repeated++
			if why := b.troubleWithin(at.Add(-exact), at.Add(near)); why == "" || d.Received.Sub(at) > soon {
				findings = append(findings, fmt.Sprintf("told twice: %s %s, accepted at %s, came again at %s, and no fault explains it",
					d.EventType, d.EventID, clock(at), clock(d.Received)))
			}
		} else if d.Accepted {
			first[d.EventID] = d.Received
		}
	}
	return findings
}

// troubleWithin is a fault between two instants that can have a webhook
// delivered twice.
func (b *books) troubleWithin(from, to time.Time) string {
	for _, i := range b.injected {
		if b.explains(i) && i.from.Before(to) && i.to.After(from) {
			return i.name
		}
	}
	for _, o := range b.outages() {
		if b.explains(o) && o.from.Before(to) && o.to.After(from) {
			return o.name
		}
	}
	return ""
}

// outages are the times without a gateway.
func (b *books) outages() (all []injection) {
	for i, l := range b.lives {
		if l.ended.IsZero() || i+1 >= len(b.lives) || len(all) > 0 && all[len(all)-1].to.After(l.ended) {
			continue
		}
		back := b.lives[len(b.lives)-1].began
		for _, next := range b.lives[i+1:] {
			if !next.ready.IsZero() {
				back = next.ready
				break
			}
		}
		name := "no gateway"
		if l.stopped {
			name = restarted
		}
		all = append(all, injection{name: name, subject: gatewaySubject, from: l.ended.Add(-exact), to: back})
	}
	return all
}

// recover measures how long it took to be back to work.
func (b *books) recover(t *tally) {
	for _, o := range b.outages() {
		if o.name == restarted {
			continue
		}
		t.recoveries["gateway dead → ready"] = append(t.recoveries["gateway dead → ready"], o.to.Sub(o.from.Add(exact)))
		var late time.Duration // of what happened while there was no gateway, or before
		told := map[string]bool{}
		for _, d := range b.deliveries {
			if d.Accepted && !told[d.EventID] && d.Timestamp.Before(o.to) && d.Received.After(o.to) {
				late = max(late, d.Received.Sub(o.to))
			}
			told[d.EventID] = told[d.EventID] || d.Accepted
		}
		if late > 0 {
			t.recoveries["gateway ready → all events told"] = append(t.recoveries["gateway ready → all events told"], late)
		}
	}
	for _, i := range b.injected {
		switch {
		case i.name == "worker killed":
			for _, a := range b.accounts {
				if again := slices.IndexFunc(a.fetches, func(f fetch) bool { return f.at.After(i.from) }); a.id == i.monitor && again >= 0 && b.alone(i, a.fetches[again].at) {
					t.recoveries["worker killed → watching"] = append(t.recoveries["worker killed → watching"], a.fetches[again].at.Sub(i.from))
				}
			}
		case i.subject == databaseSubject && strings.HasPrefix(i.name, "PostgreSQL"):
			for _, d := range b.deliveries {
				if d.Accepted && d.Timestamp.After(i.from) && d.Timestamp.Before(i.to) && d.Received.After(i.to) {
					t.recoveries["database back → event told"] = append(t.recoveries["database back → event told"], d.Received.Sub(i.to))
					break
				}
			}
		}
	}
}

// alone tells whether a fault had its consequences to itself until an instant.
func (b *books) alone(i injection, until time.Time) bool {
	for _, other := range append(b.outages(), b.injected...) {
		if other != i && other.from.Before(until) && other.to.After(i.from.Add(-time.Second)) {
			return false
		}
	}
	return true
}
