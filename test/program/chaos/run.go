//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// The longest that each phase of a run may take.
const (
	phaseTimeout    = 40 * time.Second // of the start, of the recovery, and after the end of the streams
	resourceTimeout = 20 * time.Second // until leftovers of the faults are cleaned up
)

// runSeed runs the schedule of a seed in an environment of its own, audits the run, and writes the
// result. It saves the report of a seed that failed, and removes an older one of a seed that passed.
func runSeed(ctx context.Context, o options) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	disk := filepath.Join(o.dir, "disk")
	mounts := os.MkdirAll(disk, 0o755) == nil && mountDisk(disk, 1) == nil
	s := generate(o.seed, mounts)
	if o.mutates {
		s.dropFaults()
	}
	if o.verbose {
		fmt.Println(s)
	}
	if !mounts {
		fmt.Printf("seed %d: NOT EVERY FAULT TYPE IS AVAILABLE: a small disk cannot be mounted, so no disk is filled\n", o.seed)
	}
	env, err := newEnvironment(ctx, o, s)
	if err == nil {
		err = env.run(ctx)
	}
	env.close()
	env.checkLeftovers()
	if err != nil {
		env.audit.find("%v", err)
	} else {
		env.check()
	}
	a := &env.audit
	path := filepath.Join(logDir, fmt.Sprintf("seed-%d.log", o.seed))
	_ = os.Remove(path)
	if len(a.findings) > 0 {
		_ = os.MkdirAll(logDir, 0o755)
		_ = os.WriteFile(path, []byte(env.report()), 0o644)
	}
	text, err := json.Marshal(result{s.seed, s.setting(), a.findings, a.numbers})
	return errors.Join(err, os.WriteFile(env.path(resultFile), text, 0o644))
}

// run registers the monitors, injects the scheduled faults, waits until the
// service has recovered, and ends the streams. Failed checks are added to the
// audit's findings.
func (env *environment) run(ctx context.Context) error {
	if err := env.waitFor(ctx, phaseTimeout, env.checkReady); err != nil {
		return fmt.Errorf("a gateway did not start: %w", err)
	}
	if err := env.createDestinations(ctx); err != nil {
		return fmt.Errorf("create the destinations: %w", err)
	}
	var observing sync.WaitGroup
	defer observing.Wait()
	running, end := context.WithCancel(ctx)
	defer end()
	observing.Go(func() { env.findDuplicates(running) })
	if err := env.register(ctx); err != nil {
		return err
	}
	env.injectAll(ctx, env.startedAt, env.schedule.faults)
	pause(ctx, time.Until(env.startedAt.Add(latestRecovery+2*time.Second)))
	env.logf("all faults are over")
	if err := env.waitFor(ctx, phaseTimeout, env.checkRecovered); err != nil {
		env.audit.find("the service did not recover: %v", err)
	}
	env.logf("the service has recovered")
	if env.options.mutates {
		if err := env.mutate(ctx); err != nil {
			return err
		}
	}
	if err := env.waitFor(ctx, resourceTimeout, env.checkProcesses); err != nil {
		env.audit.find("after the recovery: %v", err)
	}
	for _, m := range env.monitors {
		m.stream.End()
		env.youtube.Set(m.video, youtube.Ended)
	}
	env.logf("the streams end")
	env.injectAll(ctx, time.Now(), env.schedule.finalFaults)
	if err := env.waitFor(ctx, phaseTimeout, env.checkCompleted); err != nil {
		env.audit.find("the monitors did not complete: %v", err)
	}
	return env.collect(ctx)
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

// createDestinations makes a destination for each receiver and channel, and routes everything to
// them. No fault is active yet.
func (env *environment) createDestinations(ctx context.Context) error {
	var ids []any
	for _, d := range env.destinations {
		created, err := env.call(ctx, http.MethodPost, "/api/v1/destinations", d, http.StatusCreated)
		if err != nil {
			return err
		}
		ids = append(ids, created["destination_id"])
	}
	list, err := env.call(ctx, http.MethodGet, "/api/v1/routes", nil, http.StatusOK)
	if err != nil {
		return err
	}
	routes, _ := list["routes"].([]any)
	route, _ := routes[0].(map[string]any) // the default route
	_, err = env.call(ctx, http.MethodPatch, fmt.Sprint("/api/v1/routes/", route["route_id"]), map[string]any{"destinations": ids}, http.StatusOK)
	return err
}

// checkReady returns an error while a gateway is not ready.
func (env *environment) checkReady(context.Context) error {
	for i, g := range env.gateways {
		if !g.isReady() {
			return fmt.Errorf("gateway %d is not ready", i+1)
		}
	}
	return nil
}

// checkRecovered returns an error while a gateway is not ready, a monitor is not healthy,
// or something is pending.
func (env *environment) checkRecovered(ctx context.Context) error {
	if err := env.checkReady(ctx); err != nil {
		return err
	}
	for i, m := range env.monitors {
		if !slices.ContainsFunc(env.segmentRequests(m), func(r segmentRequest) bool {
			return r.from.After(env.startedAt.Add(latestRecovery)) && time.Since(r.at) > time.Second // it has been reported
		}) {
			return fmt.Errorf("monitor %d has requested no segment since the last episode", i)
		}
		monitor, err := env.call(ctx, http.MethodGet, "/api/v1/monitors/"+m.id, nil, http.StatusOK)
		if err != nil {
			return err
		}
		health, _ := monitor["health"].(map[string]any)
		if monitor["status"] != "monitoring" || health["video"] != "ok" || health["audio"] != "ok" {
			return fmt.Errorf("monitor %d is %v (%v), health %v", i, monitor["status"], monitor["reason"], health)
		}
	}
	return env.none(ctx, pending+` AND due_at < now() + interval '1 minute'`)
}

// checkCompleted returns an error until every monitor is completed and nothing is pending.
func (env *environment) checkCompleted(ctx context.Context) error {
	return env.none(ctx, `SELECT format('monitor %s is %s', id, status) FROM monitors WHERE status <> 'completed' UNION ALL `+pending)
}

// pending names what is pending: events, changes of incidents, and deliveries to destinations.
const pending = `SELECT 'event ' || id FROM monitor_events WHERE webhook_status = 'pending'
	UNION ALL SELECT 'a change of incident ' || id FROM incidents WHERE unrouted > 0
	UNION ALL SELECT 'delivery ' || id FROM deliveries WHERE destination_id IS NOT NULL AND state = 'pending'`

// report formats everything that is known of a run.
func (env *environment) report() string {
	var text strings.Builder
	heading := func(format string, args ...any) { fmt.Fprintf(&text, "\n== "+format+"\n", args...) }
	fmt.Fprintf(&text, "%s\n\n%s\n", env.schedule, strings.Join(env.audit.findings, "\n"))
	heading("log of the run; 0 s is %s", formatTime(env.startedAt))
	fmt.Fprintln(&text, strings.Join(env.log, "\n"))
	heading("events")
	for _, e := range env.audit.events {
		fmt.Fprintf(&text, "%+v\n", e)
	}
	for i, m := range env.monitors {
		heading("segments of monitor %d, which was registered %s", i, formatTime(m.registeredAt))
		for _, request := range m.requests {
			fmt.Fprintf(&text, "%s requested at %s\n", formatTime(request.from), formatTime(request.at))
		}
	}
	for name, r := range env.receivers() {
		heading("deliveries to the %s", name)
		for _, d := range r.All() {
			fmt.Fprintf(&text, "%s %s %s accepted %v: %s\n", formatTime(d.Received), d.MonitorID, d.EventID, d.Accepted, d)
		}
	}
	for _, t := range env.audit.threads {
		heading("%s of %s, opened %v, reopened %d times", t.Channel, t.About, t.Opened, t.Reopened)
		for _, m := range t.messages {
			fmt.Fprintf(&text, "%s posted as %q\n%s", formatTime(m.PostedAt), firstLine(m.Posted), m)
		}
	}
	for i, g := range env.gateways {
		for n, log := range g.logs {
			heading("gateway %d, log of its run %d", i+1, n+1)
			fmt.Fprintln(&text, log)
		}
	}
	return text.String()
}

// formatTime formats a time of the day in UTC.
func formatTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }
