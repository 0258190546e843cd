//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// injection is a fault that was injected, in true times.
type injection struct {
	name      string
	component component
	monitor   string // whose, if it is one's
	from, to  time.Time
}

// errNobody says that there was nothing to strike.
var errNoTarget = errors.New("there was nothing to strike")

// strikeAll carries out faults, each at its time since an instant, and returns
// when all are over.
func (env *environment) injectAll(ctx context.Context, since time.Time, all []fault) {
	for _, f := range all {
		env.injecting.Go(func() {
			pause(ctx, time.Until(since.Add(f.at)))
			if ctx.Err() != nil {
				return
			}
			began := time.Now()
			f.startedAt = &began
			err := f.kind.inject(ctx, env, f)
			inj := injection{name: f.kind.name, component: f.kind.component, from: began, to: time.Now()}
			if f.kind.perMonitor {
				inj.monitor = env.monitors[f.monitor].id
			}
			env.mu.Lock()
			if err != nil {
				inj.name = "" // what came before it may have done something all the same
				env.missed = append(env.missed, f.kind.name)
			}
			env.injected = append(env.injected, inj)
			env.mu.Unlock()
			if err != nil {
				env.logf("%s: %v", f, err)
			} else {
				env.logf("over: %s", f)
			}
		})
	}
	env.injecting.Wait()
}

// targetLimit is how long a fault waits for something to strike.
const targetTimeout = 4 * time.Second

// target waits for a process of a role that works for the strike's monitor.
func waitForTarget(ctx context.Context, env *environment, f fault, r role) (process, error) {
	deadline := time.Now().Add(targetTimeout)
	for {
		for _, p := range env.processes.snapshot(env.tempDir) {
			mine := p.monitor == env.monitors[f.monitor].id || env.schedule.runtime == "inline"
			if p.role == r && mine && !p.zombie() && p.state != 'T' {
				return p, nil
			}
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return process{}, fmt.Errorf("%w: no %s for %s", errNoTarget, r, targetTimeout)
		}
		pause(ctx, 10*time.Millisecond)
	}
}

// The signals that faults are made of.
var stopSignal, continueSignal, killSignal = syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGKILL

// pause waits, but not longer than ctx lasts.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
