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
func runSeed(ctx context.Context, shared sharedEnvironment, s schedule) (r result) {
	began := time.Now()
	r.schedule = s
	env, err := newEnvironment(ctx, shared, s)
	if err != nil {
		r.findings = []string{"set up the environment: " + err.Error()}
		return r
	}
	a := audit{schedule: s}
	fail := func(err error) {
		if err != nil {
			a.findings = append(a.findings, err.Error())
		}
	}
	fail(env.run(ctx, &a))
	fail(env.collect(ctx, &a))
	env.shutDown()
	for _, g := range env.gateways {
		runs, errs := g.history()
		a.gatewayRuns, a.gatewayErrors = append(a.gatewayRuns, runs...), append(a.gatewayErrors, errs...)
	}
	fail(env.checkLeftovers())
	for text := range env.workers.findings {
		a.findings = append(a.findings, text)
	}
	a.workerExits = env.workers.exits
	env.mu.Lock()
	a.injected, a.missed, a.operations = env.injected, env.missed, env.done
	for _, g := range env.gateways {
		a.clocks = append(a.clocks, g.clock)
	}
	env.mu.Unlock()
	r.findings, r.counters = a.check()
	r.duration = time.Since(began)
	r.report = env.report(a, r)
	env.close()
	return r
}

// run registers the monitors, injects the scheduled faults, waits until the
// service has recovered, and ends the streams. Failed checks are added to the
// audit's findings.
func (env *environment) run(ctx context.Context, a *audit) error {
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
	polling, stopPolling := context.WithCancel(ctx)
	var pollers sync.WaitGroup
	defer pollers.Wait()
	defer stopPolling()
	for _, m := range env.monitors {
		pollers.Go(func() { env.pollStatistics(polling, m) })
	}
	env.runOperations(ctx, env.startedAt, env.schedule.operations)
	env.injectAll(ctx, env.startedAt, env.schedule.faults)
	pause(ctx, time.Until(env.startedAt.Add(latestRecovery+2*time.Second)))
	env.logf("all faults are over")
	if err := env.waitFor(ctx, recoveryTimeout, env.checkRecovered); err != nil {
		a.findings = append(a.findings, "the service did not recover: "+err.Error())
	}
	env.logf("the service has recovered")
	if m, ok := mutations[env.options.mutation]; ok {
		if err := m.apply(ctx, env); err != nil {
			return fmt.Errorf("mutation: %w", err)
		}
	}
	a.findings = append(a.findings, env.checkResources(ctx)...)
	if last := env.schedule.lastOperation; last != nil {
		env.runOperation(ctx, operation{kind: last, channel: env.schedule.lastLeftOut})
	}
	for _, m := range env.monitors {
		m.endedAt = m.stream.End()
		env.youtube.Set(m.video, youtube.Ended)
	}
	env.logf("the streams end")
	env.injectAll(ctx, time.Now(), env.schedule.finalFaults)
	if err := env.waitFor(ctx, endTimeout, env.checkCompleted); err != nil {
		a.findings = append(a.findings, "the monitors did not complete: "+err.Error())
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
		if !g.isReady() || g.service() == nil {
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
		response, err := env.call(ctx, http.MethodGet, "/api/v1/monitors/"+m.id, nil)
		if err != nil {
			return err
		}
		health, _ := response.Body["health"].(map[string]any)
		if response.Body["status"] != "monitoring" || health["video"] != "ok" || health["audio"] != "ok" {
			return fmt.Errorf("monitor %d is %v (%v), health %v", i, response.Body["status"], response.Body["reason"], health)
		}
	}
	return env.checkNothingPending(ctx, `due_at < now() + interval '1 minute'`)
}

// checkCompleted returns an error until every monitor is completed and no event
// is pending.
func (env *environment) checkCompleted(ctx context.Context) error {
	for i, m := range env.monitors {
		response, err := env.call(ctx, http.MethodGet, "/api/v1/monitors/"+m.id, nil)
		if err != nil {
			return err
		}
		if response.Body["status"] != "completed" {
			return fmt.Errorf("monitor %d is %v (%v)", i, response.Body["status"], response.Body["reason"])
		}
	}
	return env.checkNothingPending(ctx, `true`)
}

// checkNothingPending returns an error while an event, a change of an incident, or a delivery to a
// destination that meets a condition, is pending.
func (env *environment) checkNothingPending(ctx context.Context, condition string) error {
	return env.withDatabase(ctx, func(db *sql.DB) error {
		var pending int
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM monitor_events WHERE webhook_status = 'pending'`).Scan(&pending); err != nil {
			return fmt.Errorf("count pending events: %w", err)
		}
		if pending > 0 {
			return fmt.Errorf("%d events are pending", pending)
		}
		if err := db.QueryRowContext(ctx, `
			SELECT (SELECT count(*) FROM incidents WHERE unrouted > 0) + count(*) FROM deliveries
			WHERE state = 'pending' AND destination_id IN (SELECT id FROM destinations WHERE deleted_at IS NULL) AND `+condition).Scan(&pending); err != nil {
			return fmt.Errorf("count pending deliveries: %w", err)
		}
		if pending > 0 {
			return fmt.Errorf("%d deliveries to destinations, or changes of incidents, are pending", pending)
		}
		return nil
	})
}

// checkDeleted returns an error while something is stored of a deleted destination.
func (env *environment) checkDeleted(ctx context.Context) error {
	return env.withDatabase(ctx, func(db *sql.DB) error {
		var left int
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM destinations WHERE deleted_at IS NOT NULL`).Scan(&left); err != nil {
			return fmt.Errorf("count deleted destinations: %w", err)
		}
		if left > 0 {
			return fmt.Errorf("%d deleted destinations are still stored", left)
		}
		return nil
	})
}
