//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"
)

// Bounds on the time in which nobody watches.
const (
	maxGapWithoutFault = 5 * time.Second  // without a fault, beyond the interval: a busy machine
	maxGapAfterFault   = 12 * time.Second // after the last fault near it
	maxGapOfNewMonitor = 22 * time.Second // the same for a new monitor: when its gateway dies with it just stored, nobody looks after it for 10 s
)

// gaps: nobody is unwatched for long, from the registration on.
func (a *audit) checkCoverage(m *monitorRecord) (findings []string) {
	troubles := append(a.gatewayOutages(), a.injected...)
	for i, request := range m.requests {
		from, to, most := m.registeredAt, request.at, maxGapOfNewMonitor
		if i > 0 {
			from, most = m.requests[i-1].at, maxGapAfterFault
		}
		if to.Sub(from) <= m.interval+maxGapWithoutFault {
			continue
		}
		since := from
		for _, k := range troubles {
			mine := k.monitor == "" || k.monitor == m.id || a.schedule.runtime == "inline"
			if mine && k.from.Before(to) && k.to.After(from.Add(-2*time.Second)) && k.to.After(since) {
				since = k.to
			}
		}
		limit := most
		if since.Equal(from) {
			limit = m.interval + maxGapWithoutFault
		}
		if to.Sub(since) > limit {
			findings = append(findings, fmt.Sprintf("nobody watched from %s to %s (%.1f s), the last fault near it was over at %s",
				formatTime(from), formatTime(to), to.Sub(from).Seconds(), formatTime(since)))
		}
	}
	return findings
}

// seen tells whether a segment that lies between two instants was looked at by
// somebody who lived to tell.
func (a *audit) observed(m *monitorRecord, from, to time.Time) bool {
	losses := a.lostObservations(m)
	return slices.ContainsFunc(m.requests, func(request segmentRequest) bool {
		if request.from.Before(from) || request.to.After(to) {
			return false
		}
		return !slices.ContainsFunc(losses, func(l injection) bool { return !request.at.Before(l.from) && !request.at.After(l.to) })
	})
}

// memory is how long before its end a worker may have seen what it has not
// reported.
const unreportedTime = 2 * time.Second

// losses are the times of which what was seen then has been lost with who saw
// it: just before a death, and before that as long as nothing could be
// reported.
func (a *audit) lostObservations(m *monitorRecord) (all []injection) {
	var ends []time.Time
	for _, d := range a.workerExits {
		if d.monitor == m.id {
			ends = append(ends, d.at)
		}
	}
	for _, run := range a.gatewayRuns {
		if a.schedule.runtime == "inline" && !run.endedAt.IsZero() && !run.stopped {
			ends = append(ends, run.endedAt)
		}
	}
	for _, inj := range a.injected {
		if inj.component == toolComponent && (inj.monitor == m.id || a.schedule.runtime == "inline") {
			ends = append(ends, inj.to)
		}
	}
	troubles := a.gatewayOutages()
	for _, inj := range a.injected {
		switch inj.component {
		case databaseComponent, reportComponent, gatewayComponent, diskComponent:
			troubles = append(troubles, inj)
		}
	}
	for _, end := range ends {
		loss := injection{from: end.Add(-unreportedTime), to: end}
		for again := true; again; { // troubles may follow each other
			again = false
			for _, inj := range troubles {
				// After a failure reports are tried again after up to 5 s.
				if inj.from.Before(end) && inj.to.Add(5*time.Second).After(loss.from) && inj.from.Add(-time.Second).Before(loss.from) {
					loss.from, again = inj.from.Add(-time.Second), true
				}
			}
		}
		all = append(all, loss)
	}
	return all
}
