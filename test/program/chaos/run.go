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

// Limits of the parts of a run.
const (
	startTimeout    = 40 * time.Second
	recoveryTimeout = 40 * time.Second // from the last fault until all is as if there had been none
	endTimeout      = 40 * time.Second // from the end of the streams until all is told
)

// window is how far a playlist reaches back, so that a watcher that was away
// for a while still sees everything.
const playlistWindow = 64 * time.Second

// result is what came of a seed.
type result struct {
	schedule schedule
	findings []string
	counters counters
	duration time.Duration
	report   string // all that is known, for whoever looks into it
}

// play runs a seed from nothing to nothing.
func runSeed(ctx context.Context, shared sharedEnvironment, s schedule) (r result) {
	began := time.Now()
	r.schedule = s
	env, err := newEnvironment(ctx, shared, s)
	if err != nil {
		r.findings = []string{"the seed could not be set up: " + err.Error()}
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
	a.gatewayRuns, a.gatewayErrors = env.gateways.history()
	fail(env.checkLeftovers())
	for text := range env.workers.findings {
		a.findings = append(a.findings, text)
	}
	a.workerExits = env.workers.exits
	env.mu.Lock()
	a.injected, a.missed, a.clockSettings = env.injected, env.missed, env.clockSettings
	env.mu.Unlock()
	r.findings, r.counters = a.check()
	r.duration = time.Since(began)
	r.report = env.report(a, r)
	env.close()
	return r
}

// perform is the play: streams, monitors, faults, calm, and the end.
func (env *environment) run(ctx context.Context, a *audit) error {
	if err := env.waitFor(ctx, startTimeout, func(context.Context) error {
		if env.gateways.service() == nil {
			return errNoGateway
		}
		return nil
	}); err != nil {
		return fmt.Errorf("the gateway did not start: %w", err)
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
	env.injectAll(ctx, env.startedAt, env.schedule.faults)
	pause(ctx, time.Until(env.startedAt.Add(latestRecovery+2*time.Second)))
	env.logf("all is healed")
	if err := env.waitFor(ctx, recoveryTimeout, env.checkRecovered); err != nil {
		a.findings = append(a.findings, "calm does not come: "+err.Error())
	}
	env.logf("calm")
	if harm, ok := mutations[env.options.mutation]; ok {
		if err := harm.apply(ctx, env); err != nil {
			return fmt.Errorf("sabotage: %w", err)
		}
	}
	a.findings = append(a.findings, env.checkResources(ctx)...)
	for _, m := range env.monitors {
		m.endedAt = m.stream.End()
		env.youtube.Set(m.video, youtube.Ended)
	}
	env.logf("the streams end")
	env.injectAll(ctx, time.Now(), env.schedule.finalFaults)
	if err := env.waitFor(ctx, endTimeout, env.checkCompleted); err != nil {
		a.findings = append(a.findings, "the end is not told: "+err.Error())
	}
	return nil
}

// await asks until the answer is nil, twice in a row.
func (env *environment) waitFor(ctx context.Context, limit time.Duration, what func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error // that is not of the time being up
	for well := 0; ; {
		err := what(ctx)
		if err == nil {
			well++
		} else {
			well = 0
		}
		switch {
		case well == 2:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("not within %s: %w", limit, cmp.Or(last, err, ctx.Err()))
		case err != nil:
			last = err
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// calm tells what is not yet as if there had been no faults.
func (env *environment) checkRecovered(ctx context.Context) error {
	run := env.gateways.latest()
	if lives, _ := env.gateways.history(); run == nil || lives[len(lives)-1].readyAt.IsZero() || env.gateways.service() == nil {
		return errNoGateway
	}
	for i, m := range env.monitors {
		var last time.Duration
		for _, span := range append(m.script.black, m.script.silent...) {
			last = max(last, span.to)
		}
		if !env.watchedAfter(m, env.startedAt.Add(last)) {
			return fmt.Errorf("monitor %d has not been watched since", i)
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
	return env.checkNothingPending(ctx)
}

// over tells what has not yet been told of the end.
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
	return env.checkNothingPending(ctx)
}

func (env *environment) checkNothingPending(ctx context.Context) error {
	return env.withDatabase(ctx, func(db *sql.DB) error {
		var pending int
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM monitor_events WHERE webhook_status = 'pending'`).Scan(&pending); err != nil {
			return fmt.Errorf("ask for pending events: %w", err)
		}
		if pending > 0 {
			return fmt.Errorf("%d events are pending", pending)
		}
		return nil
	})
}
