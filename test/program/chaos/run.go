//go:build linux

package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// The longest that each phase of a run may take.
const (
	startTimeout    = 40 * time.Second
	recoveryTimeout = 40 * time.Second // from the last fault
	endTimeout      = 40 * time.Second // from the end of the streams
)

// playlistWindow is how far back a playlist reaches. A worker that was away for
// a while still finds every segment.
const playlistWindow = 64 * time.Second

// result is the outcome of one seed.
type result struct {
	schedule schedule
	findings []string
	counters counters
	duration time.Duration
	report   string // for the report file
}

// runSeed sets up an environment, runs the schedule of one seed in it, audits
// the run and tears the environment down.
func runSeed(ctx context.Context, shared sharedEnvironment, s schedule) result {
	began := time.Now()
	env, err := newEnvironment(ctx, shared, s)
	if err != nil {
		return result{schedule: s, findings: []string{"set up the environment: " + err.Error()}}
	}
	defer env.close()
	a := &env.audit
	fail := func(err error) {
		if err != nil {
			a.findings = append(a.findings, err.Error())
		}
	}
	fail(env.run(ctx))
	fail(env.collect(ctx, a))
	env.shutDown()
	for _, g := range env.gateways {
		runs, errs := g.history()
		a.gatewayRuns, a.findings = append(a.gatewayRuns, runs...), append(a.findings, errs...)
	}
	env.checkLeftovers()
	a.check()
	r := result{s, a.findings, a.counters, time.Since(began), env.report()}
	if env.options.mutates {
		for _, finding := range a.findings {
			env.logf("found: %s", finding)
		}
		r.findings, r.counters.unreported = missedMutations(a.findings), 0
	}
	return r
}

// run registers the monitors, injects the scheduled faults, waits until the
// service has recovered, and ends the streams. Failed checks are added to the
// audit's findings.
func (env *environment) run(ctx context.Context) error {
	var observing sync.WaitGroup
	defer observing.Wait()
	running, end := context.WithCancel(ctx)
	defer end()
	observing.Go(func() { env.findDuplicates(running) })
	if err := env.waitFor(ctx, startTimeout, func(context.Context) error {
		for _, g := range env.gateways {
			if g.service() == nil {
				return errNoGateway
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("a gateway did not start: %w", err)
	}
	if err := env.createDestinations(ctx); err != nil {
		return fmt.Errorf("create the destinations: %w", err)
	}
	if err := env.register(ctx); err != nil {
		return err
	}
	env.injectAll(ctx, env.startedAt, env.schedule.faults)
	pause(ctx, time.Until(env.startedAt.Add(latestRecovery+2*time.Second)))
	env.logf("all faults are over")
	if err := env.waitFor(ctx, recoveryTimeout, env.checkRecovered); err != nil {
		env.find("the service did not recover: %v", err)
	}
	env.logf("the service has recovered")
	if env.options.mutates {
		if err := env.mutate(ctx); err != nil {
			env.find("mutation: %v", err)
		}
	}
	for _, finding := range env.checkResources(ctx) {
		env.find("%s", finding)
	}
	for _, m := range env.monitors {
		m.stream.End()
		env.youtube.Set(m.video, youtube.Ended)
	}
	env.logf("the streams end")
	env.injectAll(ctx, time.Now(), env.schedule.finalFaults)
	if err := env.waitFor(ctx, endTimeout, env.checkCompleted); err != nil {
		env.find("the monitors did not complete: %v", err)
	}
	return nil
}

// waitFor polls check until it returns nil twice in a row. After limit it
// returns the last error of check.
func (env *environment) waitFor(ctx context.Context, limit time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var lastErr error // the last one before the timeout
	for successes := 0; ; {
		err := check(ctx)
		if err == nil {
			successes++
		} else {
			successes = 0
		}
		switch {
		case successes == 2:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("not within %s: %w", limit, cmp.Or(lastErr, err, ctx.Err()))
		case err != nil:
			lastErr = err
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// checkRecovered returns an error while a gateway is not ready, a monitor is not healthy,
// or an event is pending.
func (env *environment) checkRecovered(ctx context.Context) error {
	for _, g := range env.gateways {
		if !g.ready() {
			return errNoGateway
		}
	}
	for i, m := range env.monitors {
		var last time.Duration
		for _, span := range append(m.script.black, m.script.silent...) {
			last = max(last, span.to)
		}
		if !env.watchedAfter(m, env.startedAt.Add(last)) {
			return fmt.Errorf("monitor %d has requested no segment since the last episode", i)
		}
		monitor, err := env.mustAnswer(ctx, http.MethodGet, "/api/v1/monitors/"+m.id, nil, http.StatusOK)
		if err != nil {
			return err
		}
		health, _ := monitor["health"].(map[string]any)
		if monitor["status"] != "monitoring" || health["video"] != "ok" || health["audio"] != "ok" {
			return fmt.Errorf("monitor %d is %v (%v), health %v", i, monitor["status"], monitor["reason"], health)
		}
	}
	return env.checkNothingPending(ctx, `due_at < now() + interval '1 minute'`)
}

// checkCompleted returns an error until every monitor is completed and no event
// is pending.
func (env *environment) checkCompleted(ctx context.Context) error {
	for i, m := range env.monitors {
		monitor, err := env.mustAnswer(ctx, http.MethodGet, "/api/v1/monitors/"+m.id, nil, http.StatusOK)
		if err != nil {
			return err
		}
		if monitor["status"] != "completed" {
			return fmt.Errorf("monitor %d is %v (%v)", i, monitor["status"], monitor["reason"])
		}
	}
	return env.checkNothingPending(ctx, `true`)
}

// checkNothingPending returns an error while an event, a change of an incident, a delivery to a
// destination that meets a condition, or the removal of a deleted destination is pending.
func (env *environment) checkNothingPending(ctx context.Context, condition string) error {
	return env.eachRow(ctx, `
		SELECT (SELECT count(*) FROM monitor_events WHERE webhook_status = 'pending'), (SELECT count(*) FROM incidents WHERE unrouted > 0),
		       (SELECT count(*) FROM deliveries WHERE destination_id IS NOT NULL AND state = 'pending' AND `+condition+`),
		       (SELECT count(*) FROM destinations WHERE deleted_at IS NOT NULL)`, func(rows *sql.Rows) error {
		var events, incidents, deliveries, deleted int
		if err := rows.Scan(&events, &incidents, &deliveries, &deleted); err != nil || events+incidents+deliveries+deleted == 0 {
			return err
		}
		return fmt.Errorf("%d events, %d incidents, %d deliveries to destinations and %d deleted destinations are pending", events, incidents, deliveries, deleted)
	})
}
