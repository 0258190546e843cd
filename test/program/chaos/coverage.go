//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds on the time without a segment request.
const (
	maxGapWithoutFault = 5 * time.Second  // beyond the check interval, without a fault: the machine may be busy
	maxGapOfFirstRun   = 12 * time.Second // before the first request, without a fault: yt-dlp runs first, at a low priority
	maxGapAfterFault   = 12 * time.Second // after the last fault nearby
	maxGapAfterRenewal = 22 * time.Second // after the renewal of a URL was disturbed: 10 s between renewals (decision S7), and a backoff of 10 s
	maxGapOfNewMonitor = 22 * time.Second // before the first request; another gateway may start the monitor only 10 s after its registration
)

// checkCoverage finds times without segment requests that are longer than the
// faults explain, from the registration on.
func (a *audit) checkCoverage(m *monitorRecord) (findings []string) {
	faults := append(a.gatewayOutages(), a.injected...)
	requests := m.watched()
	for i, request := range requests {
		from, to, maxGap := m.registeredAt, request.at, maxGapOfNewMonitor
		if i > 0 {
			from, maxGap = requests[i-1].at, maxGapAfterFault
		}
		if to.Sub(from) <= m.interval+maxGapWithoutFault {
			continue
		}
		since := from
		for _, inj := range faults {
			concerns := inj.monitor == "" || inj.monitor == m.id || a.schedule.runtime == "inline"
			if concerns && inj.from.Before(to) && inj.to.After(from.Add(-2*time.Second)) && inj.to.After(since) {
				since = inj.to
			}
			if concerns && i > 0 && inj.component == toolComponent && strings.HasPrefix(inj.name, string(ytdlpRole)) && inj.from.Before(to) && inj.to.After(from) {
				maxGap = maxGapAfterRenewal
			}
		}
		limit := maxGap
		switch undisturbed := since.Equal(from); {
		case undisturbed && i == 0:
			limit = maxGapOfFirstRun
		case undisturbed:
			limit = m.interval + maxGapWithoutFault
		}
		if to.Sub(since) > limit {
			findings = append(findings, fmt.Sprintf("no segment was requested from %s to %s (%.1f s); the last fault nearby ended at %s",
				formatTime(from), formatTime(to), to.Sub(from).Seconds(), formatTime(since)))
		}
	}
	return findings
}

// analysed lists the requests of segments to analyse. A segment that is older than one
// requested before may be for a capture of evidence, so it does not count.
func (m *monitorRecord) analysed() (all []segmentRequest) {
	var newest time.Time
	for _, request := range m.requests {
		if request.to.After(newest) {
			newest = request.to
			all = append(all, request)
		}
	}
	return all
}

// watched lists the requests of analysed, and those of older segments that a worker makes up
// for after an outage. It analyses these one at a time, a capture fetches them at once.
func (m *monitorRecord) watched() (all []segmentRequest) {
	const burst = 300 * time.Millisecond
	var newest time.Time
	for i, request := range m.requests {
		afterOthers := i > 0 && request.at.Sub(m.requests[i-1].at) < burst
		beforeOthers := i+1 < len(m.requests) && m.requests[i+1].at.Sub(request.at) < burst
		if request.to.After(newest) {
			newest = request.to
		} else if afterOthers || beforeOthers {
			continue
		}
		all = append(all, request)
	}
	return all
}

// observed reports whether a worker that could still report it fetched a segment between
// two times of the media to analyse it.
func (a *audit) observed(m *monitorRecord, from, to time.Time) bool {
	losses := a.lostObservations(m)
	return slices.ContainsFunc(m.analysed(), func(request segmentRequest) bool {
		if request.from.Before(from) || request.to.After(to) {
			return false
		}
		return !slices.ContainsFunc(losses, func(loss injection) bool { return !request.at.Before(loss.from) && !request.at.After(loss.to) })
	})
}

// unreportedTime is how long before its end a worker may have seen something
// that it had not reported.
const unreportedTime = 2 * time.Second

// lostObservations are the times whose observations a worker lost at its end:
// the last 2 s, and longer if reports could not be stored.
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
	outages := a.gatewayOutages()
	for _, inj := range a.injected {
		switch inj.component {
		case databaseComponent, reportComponent, gatewayComponent, diskComponent:
			outages = append(outages, inj)
		}
	}
	for _, end := range ends {
		loss := injection{from: end.Add(-unreportedTime), to: end}
		for extended := true; extended; { // one outage may follow another
			extended = false
			for _, inj := range outages {
				// A failed report is retried after at most 5 s.
				if inj.from.Before(end) && inj.to.Add(5*time.Second).After(loss.from) && inj.from.Add(-time.Second).Before(loss.from) {
					loss.from, extended = inj.from.Add(-time.Second), true
				}
			}
		}
		all = append(all, loss)
	}
	return all
}
