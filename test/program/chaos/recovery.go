//go:build linux

package main

import (
	"slices"
	"strings"
	"time"
)

// outages are the times without a gateway.
func (a *audit) gatewayOutages() (all []injection) {
	for i, run := range a.gatewayRuns {
		if run.endedAt.IsZero() || i+1 >= len(a.gatewayRuns) || len(all) > 0 && all[len(all)-1].to.After(run.endedAt) {
			continue
		}
		back := a.gatewayRuns[len(a.gatewayRuns)-1].startedAt
		for _, next := range a.gatewayRuns[i+1:] {
			if !next.readyAt.IsZero() {
				back = next.readyAt
				break
			}
		}
		name := "no gateway"
		if run.stopped {
			name = gatewayRestarted
		}
		all = append(all, injection{name: name, component: gatewayComponent, from: run.endedAt.Add(-tolerance), to: back})
	}
	return all
}

// recover measures how long it took to be back to work.
func (a *audit) measureRecovery(c *counters) {
	for _, outage := range a.gatewayOutages() {
		if outage.name == gatewayRestarted {
			continue
		}
		c.recoveries["gateway dead → ready"] = append(c.recoveries["gateway dead → ready"], outage.to.Sub(outage.from.Add(tolerance)))
		var late time.Duration // of what happened while there was no gateway, or before
		told := map[string]bool{}
		for _, d := range a.deliveries {
			if d.Accepted && !told[d.EventID] && d.Timestamp.Before(outage.to) && d.Received.After(outage.to) {
				late = max(late, d.Received.Sub(outage.to))
			}
			told[d.EventID] = told[d.EventID] || d.Accepted
		}
		if late > 0 {
			c.recoveries["gateway ready → all events told"] = append(c.recoveries["gateway ready → all events told"], late)
		}
	}
	for _, inj := range a.injected {
		switch {
		case inj.name == "worker killed":
			for _, m := range a.monitors {
				if again := slices.IndexFunc(m.requests, func(request segmentRequest) bool { return request.at.After(inj.from) }); m.id == inj.monitor && again >= 0 && a.isolated(inj, m.requests[again].at) {
					c.recoveries["worker killed → watching"] = append(c.recoveries["worker killed → watching"], m.requests[again].at.Sub(inj.from))
				}
			}
		case inj.component == databaseComponent && strings.HasPrefix(inj.name, "PostgreSQL"):
			for _, d := range a.deliveries {
				if d.Accepted && d.Timestamp.After(inj.from) && d.Timestamp.Before(inj.to) && d.Received.After(inj.to) {
					c.recoveries["database back → event told"] = append(c.recoveries["database back → event told"], d.Received.Sub(inj.to))
					break
				}
			}
		}
	}
}

// alone tells whether a fault had its consequences to itself until an instant.
func (a *audit) isolated(inj injection, until time.Time) bool {
	for _, other := range append(a.gatewayOutages(), a.injected...) {
		if other != inj && other.from.Before(until) && other.to.After(inj.from.Add(-time.Second)) {
			return false
		}
	}
	return true
}
