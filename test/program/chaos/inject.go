//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// injection is a fault as it was injected, in true times.
type injection struct {
	name      string
	component component
	monitor   string // the monitor affected; empty: all
	from, to  time.Time
}

// errNoTarget is returned by a fault that found no process, webhook or server
// to affect.
var errNoTarget = errors.New("there was no target")

// injectAll injects faults, each at its time after since, and returns when all
// are over.
func (env *environment) injectAll(ctx context.Context, since time.Time, faults []fault) {
	for _, f := range faults {
		env.injecting.Go(func() {
			pause(ctx, time.Until(since.Add(f.at)))
			if ctx.Err() != nil {
				return
			}
			env.logf("%s", f)
			began := time.Now()
			f.startedAt = &began
			err := f.kind.inject(ctx, env, f)
			inj := injection{name: f.kind.name, component: f.kind.component, from: began, to: time.Now()}
			if f.kind.perMonitor {
				inj.monitor = env.monitors[f.monitor].id
			}
			env.mu.Lock()
			switch {
			case err != nil && f.kind.component == peopleComponent && !errors.Is(err, errNoTarget):
				env.audit.find("%s: %v", f, err)
			case err != nil:
				inj.name = "" // an attempt may have had an effect, so it still explains findings
				env.audit.counters.missed[f.kind.name]++
			}
			env.audit.injected = append(env.audit.injected, inj)
			env.mu.Unlock()
			env.logf("ended: %s: %v", f, err)
		})
	}
	env.injecting.Wait()
}

// targetTimeout is how long a fault waits for a process to affect.
const targetTimeout = 4 * time.Second

// waitForTarget waits for a running process of a role that works for the
// fault's monitor.
func waitForTarget(ctx context.Context, env *environment, f fault, r role) (process, error) {
	deadline := time.Now().Add(targetTimeout)
	for {
		for _, p := range env.processes.snapshot(env.tempDir) {
			matches := p.monitor == env.monitors[f.monitor].id || env.schedule.runtime == "inline"
			if p.role == r && matches && p.state != 'T' {
				env.logf("%s: %s", f, p)
				return p, nil
			}
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return process{}, fmt.Errorf("%w: no %s for %s", errNoTarget, r, targetTimeout)
		}
		pause(ctx, 10*time.Millisecond)
	}
}

var stopSignal, continueSignal, killSignal = syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGKILL

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
