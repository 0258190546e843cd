//go:build linux

package main

import (
	"slices"
	"strings"
	"time"
)

// gatewayOutages are the times in which a gateway is not ready. Another one may live.
func (a *audit) gatewayOutages() (all []injection) {
	byGateway := map[int][]gatewayRun{}
	for _, run := range a.gatewayRuns {
		byGateway[run.gateway] = append(byGateway[run.gateway], run)
	}
	for _, n := range sortedKeys(byGateway) {
		all = append(all, outages(byGateway[n])...)
	}
	return all
}

// outages are the times between the runs of a gateway.
func outages(runs []gatewayRun) (all []injection) {
	for i, run := range runs {
		if run.endedAt.IsZero() || i+1 >= len(runs) || len(all) > 0 && all[len(all)-1].to.After(run.endedAt) {
			continue
		}
		back := runs[len(runs)-1].startedAt
		for _, next := range runs[i+1:] {
			if !next.readyAt.IsZero() {
				back = next.readyAt
				break
			}
		}
		name := "no gateway"
		if run.stopped && !run.killed {
			name = gatewayRestarted
		}
		all = append(all, injection{name: name, component: gatewayComponent, from: run.endedAt.Add(-tolerance), to: back})
	}
	return all
}

// measureRecovery measures how long the service took to work again after each
// fault.
func (a *audit) measureRecovery(c *counters) {
	for _, outage := range a.gatewayOutages() {
		if outage.name == gatewayRestarted || len(a.schedule.gateways) > 1 {
			continue // or the other gateway goes on
		}
		c.recoveries["gateway ended → next one ready"] = append(c.recoveries["gateway ended → next one ready"], outage.to.Sub(outage.from.Add(tolerance)))
		var latest time.Duration // delay of an event from before the gateway was ready
		accepted := map[string]bool{}
		for _, d := range a.deliveries {
			if d.Accepted && !accepted[d.EventID] && d.Timestamp.Before(outage.to) && d.Received.After(outage.to) {
				latest = max(latest, d.Received.Sub(outage.to))
			}
			accepted[d.EventID] = accepted[d.EventID] || d.Accepted
		}
		if latest > 0 {
			c.recoveries["gateway ready → all events delivered"] = append(c.recoveries["gateway ready → all events delivered"], latest)
		}
	}
	for _, inj := range a.injected {
		switch {
		case inj.name == "worker killed":
			for _, m := range a.monitors {
				if next := slices.IndexFunc(m.requests, func(request segmentRequest) bool { return request.at.After(inj.from) }); m.id == inj.monitor && next >= 0 && a.isolated(inj, m.requests[next].at) {
					c.recoveries["worker killed → next segment request"] = append(c.recoveries["worker killed → next segment request"], m.requests[next].at.Sub(inj.from))
				}
			}
		case inj.component == databaseComponent && strings.HasPrefix(inj.name, "PostgreSQL"):
			for _, d := range a.deliveries {
				if d.Accepted && d.Timestamp.After(inj.from) && d.Timestamp.Before(inj.to) && d.Received.After(inj.to) {
					c.recoveries["database back → event delivered"] = append(c.recoveries["database back → event delivered"], d.Received.Sub(inj.to))
					break
				}
			}
		}
	}
}

// isolated reports whether no other fault happened from shortly before an
// injection until a time.
func (a *audit) isolated(inj injection, until time.Time) bool {
	for _, other := range append(a.gatewayOutages(), a.injected...) {
		if other != inj && other.from.Before(until) && other.to.After(inj.from.Add(-time.Second)) {
			return false
		}
	}
	return true
}
