//go:build linux

package main

import (
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
func (a *audit) checkCoverage(m *monitorRecord) {
	requests := m.watched()
	if len(requests) == 0 {
		a.find("monitor %d: no segment was ever requested", m.number)
	}
	faults := a.faultsOf(m)
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
			if inj.from.Before(to) && inj.to.After(from.Add(-2*time.Second)) && inj.to.After(since) {
				since = inj.to
			}
			if i > 0 && inj.component == toolComponent && strings.HasPrefix(inj.name, string(ytdlpRole)) && inj.from.Before(to) && inj.to.After(from) {
				maxGap = maxGapAfterRenewal
			}
		}
		switch undisturbed := since.Equal(from); {
		case undisturbed && i == 0:
			maxGap = maxGapOfFirstRun
		case undisturbed:
			maxGap = m.interval + maxGapWithoutFault
		}
		if to.Sub(since) > maxGap {
			a.find("monitor %d: no segment was requested from %s to %s (%.1f s); the last fault nearby ended at %s",
				m.number, formatTime(from), formatTime(to), to.Sub(from).Seconds(), formatTime(since))
		}
	}
}

// watched lists the requests of segments that a worker analyses, one at a time. Older
// segments that are requested at once are for a capture of evidence, so they do not count.
func (m *monitorRecord) watched() (all []segmentRequest) {
	const burst = 300 * time.Millisecond
	var newest time.Time
	for i, request := range m.requests {
		afterOthers := i > 0 && request.at.Sub(m.requests[i-1].at) < burst
		beforeOthers := i+1 < len(m.requests) && m.requests[i+1].at.Sub(request.at) < burst
		if request.from.After(newest) {
			newest = request.from
		} else if afterOthers || beforeOthers {
			continue
		}
		all = append(all, request)
	}
	return all
}

// faultsOf lists the faults that concern a monitor, and the times in which a gateway was away.
func (a *audit) faultsOf(m *monitorRecord) []injection {
	return slices.DeleteFunc(append(a.gatewayOutages(), a.injected...), func(inj injection) bool {
		return inj.component == peopleComponent || inj.monitor != "" && inj.monitor != m.id && a.schedule.runtime != "inline"
	})
}

// disturbed reports whether a fault was active between two times, or a monitor was not yet
// watched then.
func (a *audit) disturbed(m *monitorRecord, from, to time.Time) bool {
	return len(m.requests) == 0 || m.requests[0].at.After(from) || slices.ContainsFunc(a.faultsOf(m), func(inj injection) bool {
		return inj.from.Before(to) && inj.to.After(from.Add(-reportTime))
	})
}

// gatewayOutages are the times in which a gateway was not ready. Another one may have lived.
func (a *audit) gatewayOutages() (all []injection) {
	for i, run := range a.gatewayRuns {
		outage := injection{component: gatewayComponent, from: run.endedAt.Add(-tolerance)}
		for _, next := range a.gatewayRuns[i+1:] {
			if next.gateway != run.gateway {
				break
			}
			if outage.to = next.readyAt; !next.readyAt.IsZero() {
				break
			}
			outage.to = next.startedAt
		}
		if !run.endedAt.IsZero() && !outage.to.IsZero() {
			all = append(all, outage)
		}
	}
	return all
}
