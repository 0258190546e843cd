//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// story: a monitor tells what happened to its stream, once each.
func (b *books) story(a *account, t *tally) (findings []string) {
	say := func(format string, args ...any) { findings = append(findings, fmt.Sprintf(format, args...)) }
	for _, f := range a.backwards {
		say("its statistics went backwards: %s", f)
	}
	if a.status != "completed" {
		say("it is %s at the end", a.status)
	}
	for kind, at := range map[string]int{"stream.started": 0, "stream.ended": len(a.stored) - 1} {
		n := 0
		for i, r := range a.stored {
			if r.kind != kind {
				continue
			}
			n++
			if i != at {
				say("%s is event %d of %d", kind, i+1, len(a.stored))
			}
		}
		if n != 1 {
			say("%s was told %d times", kind, n)
		}
	}
	for _, r := range a.stored {
		if r.kind == "monitor.error" {
			say("it was told of an error: %s", r.body)
		}
	}
	told, problems := a.told()
	findings = append(findings, problems...)
	for _, condition := range []string{"blackout", "silence"} {
		findings = append(findings, b.compare(a, condition, told, t)...)
	}
	for name, n := range map[string]float64{"blackout_events": 0, "silence_events": 0} {
		for _, r := range a.stored {
			if r.kind+"_events" == "alert."+name {
				n++
			}
		}
		if a.counted[name] != n {
			say("its statistics say %s %v, and %v were told", name, a.counted[name], n)
		}
	}
	findings = append(findings, b.gaps(a)...)
	return findings
}

// compare holds the episodes that were told against those that were.
func (b *books) compare(a *account, condition string, told []episode, t *tally) (findings []string) {
	var truth []episode
	for _, e := range a.truth {
		if e.condition == condition {
			truth = append(truth, e)
		}
	}
	slices.SortFunc(truth, func(x, y episode) int { return x.from.Compare(y.from) })
	t.episodes += len(truth)
	matched := make([]bool, len(truth))
	for _, e := range told {
		if e.condition != condition {
			continue
		}
		first := slices.IndexFunc(truth, func(k episode) bool { return k.from.Sub(e.from).Abs() <= exact })
		if first < 0 { // the watch may have begun within it
			first = slices.IndexFunc(truth, func(k episode) bool {
				return k.from.Before(e.from) && k.to.After(e.from) && !b.seen(a, a.live.Add(-window), k.from)
			})
		}
		if first < 0 {
			findings = append(findings, fmt.Sprintf("a %s from %s to %s was told, and there was none%s", condition, clock(e.from), clock(e.to), nearest(truth, e)))
			continue
		}
		last := first
		// What nobody could see between two episodes makes them one.
		for last+1 < len(truth) && e.to.Sub(truth[last].to).Abs() > exact && !b.seen(a, truth[last].to, truth[last+1].from) {
			last++
		}
		if d := e.to.Sub(truth[last].to); d.Abs() > exact {
			findings = append(findings, fmt.Sprintf("the %s from %s was told to end at %s, and ended at %s", condition, clock(e.from), clock(e.to), clock(truth[last].to)))
		}
		for i := first; i <= last; i++ {
			if matched[i] {
				findings = append(findings, fmt.Sprintf("the %s from %s was told twice", condition, clock(truth[i].from)))
			}
			matched[i] = true
		}
	}
	for i, k := range truth {
		switch {
		case matched[i]:
		case !b.seen(a, k.from, k.to) || !b.seen(a, a.live.Add(-window), k.from):
			t.excused++
		default:
			t.lost++
			findings = append(findings, fmt.Sprintf("lost: the %s from %s to %s was watched, and not told", condition, clock(k.from), clock(k.to)))
		}
	}
	return findings
}

// nearest says which episode may have been meant.
func nearest(truth []episode, e episode) string {
	if len(truth) == 0 {
		return ""
	}
	k := slices.MinFunc(truth, func(x, y episode) int {
		return cmp.Compare(x.from.Sub(e.from).Abs(), y.from.Sub(e.from).Abs())
	})
	return fmt.Sprintf(" (the nearest was from %s to %s)", clock(k.from), clock(k.to))
}

// seen tells whether a segment that lies between two instants was looked at by
// somebody who lived to tell.
func (b *books) seen(a *account, from, to time.Time) bool {
	losses := b.losses(a)
	return slices.ContainsFunc(a.fetches, func(f fetch) bool {
		if f.from.Before(from) || f.to.After(to) {
			return false
		}
		return !slices.ContainsFunc(losses, func(l injection) bool { return !f.at.Before(l.from) && !f.at.After(l.to) })
	})
}

// memory is how long before its end a worker may have seen what it has not
// reported.
const memory = 2 * time.Second

// losses are the times of which what was seen then has been lost with who saw
// it: just before a death, and before that as long as nothing could be
// reported.
func (b *books) losses(a *account) (all []injection) {
	var ends []time.Time
	for _, d := range b.deaths {
		if d.monitor == a.id {
			ends = append(ends, d.at)
		}
	}
	for _, l := range b.lives {
		if b.plan.runtime == "inline" && !l.ended.IsZero() && !l.stopped {
			ends = append(ends, l.ended)
		}
	}
	for _, i := range b.injected {
		if i.subject == toolSubject && (i.monitor == a.id || b.plan.runtime == "inline") {
			ends = append(ends, i.to)
		}
	}
	troubles := b.outages()
	for _, i := range b.injected {
		switch i.subject {
		case databaseSubject, internalSubject, gatewaySubject, diskSubject:
			troubles = append(troubles, i)
		}
	}
	for _, end := range ends {
		loss := injection{from: end.Add(-memory), to: end}
		for again := true; again; { // troubles may follow each other
			again = false
			for _, i := range troubles {
				// After a failure reports are tried again after up to 5 s.
				if i.from.Before(end) && i.to.Add(5*time.Second).After(loss.from) && i.from.Add(-time.Second).Before(loss.from) {
					loss.from, again = i.from.Add(-time.Second), true
				}
			}
		}
		all = append(all, loss)
	}
	return all
}

// Bounds on the time in which nobody watches.
const (
	blinkMost   = 5 * time.Second  // without a fault, beyond the interval: a busy machine
	recoverMost = 12 * time.Second // after the last fault near it
	beginMost   = 22 * time.Second // the same for a new monitor: when its gateway dies with it just stored, nobody looks after it for 10 s
)

// gaps: nobody is unwatched for long, from the registration on.
func (b *books) gaps(a *account) (findings []string) {
	troubles := append(b.outages(), b.injected...)
	for i, f := range a.fetches {
		from, to, most := a.registered, f.at, beginMost
		if i > 0 {
			from, most = a.fetches[i-1].at, recoverMost
		}
		if to.Sub(from) <= a.interval+blinkMost {
			continue
		}
		since := from
		for _, k := range troubles {
			mine := k.monitor == "" || k.monitor == a.id || b.plan.runtime == "inline"
			if mine && k.from.Before(to) && k.to.After(from.Add(-2*time.Second)) && k.to.After(since) {
				since = k.to
			}
		}
		limit := most
		if since.Equal(from) {
			limit = a.interval + blinkMost
		}
		if to.Sub(since) > limit {
			findings = append(findings, fmt.Sprintf("nobody watched from %s to %s (%.1f s), the last fault near it was over at %s",
				clock(from), clock(to), to.Sub(from).Seconds(), clock(since)))
		}
	}
	return findings
}
