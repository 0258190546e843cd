//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// injection is a fault as it was injected, or an absence of a gateway, in true times.
type injection struct {
	monitor       string // the monitor affected; empty: all
	losesOutcomes bool
	from, to      time.Time // to is zero while it lasts
}

// errNoTarget is returned by a fault that found no process, webhook or server
// to affect.
var errNoTarget = errors.New("there was no target")

// injectAll injects faults, each at its time after since, and returns when all
// are over. A fault without a target may have had an effect, so it still explains findings.
func (env *environment) injectAll(ctx context.Context, since time.Time, faults []fault) {
	var injecting sync.WaitGroup
	for _, f := range faults {
		injecting.Go(func() {
			pause(ctx, time.Until(since.Add(f.at)))
			if ctx.Err() != nil {
				return
			}
			env.logf("%s", f)
			began := time.Now()
			err := f.kind.inject(ctx, env, f)
			env.logf("ended: %s: %v", f, err)
			inj := &injection{losesOutcomes: f.kind.losesOutcomes(), from: began, to: time.Now()}
			inj.to = inj.to.Add(f.kind.component.lingers)
			if f.kind.component.perMonitor && env.schedule.runtime != "inline" { // those share the gateway's process
				inj.monitor = env.monitors[f.monitor].id
			}
			env.audit.addInjection(inj)
			if err == nil {
				env.audit.count(f.kind.name)
			} else {
				env.audit.count(f.kind.name + ": no target")
			}
		})
	}
	injecting.Wait()
}

func killGateway(_ context.Context, env *environment, f fault) error {
	away := restartDelay
	if len(env.gateways) > 1 { // the other one may take over meanwhile
		away = maxAway * time.Duration(f.parameter) / 1000
	}
	return env.gateways[f.gateway].kill(away)
}

// killAll kills every process of the environment at once, like a power failure.
func killAll(_ context.Context, env *environment, _ fault) error {
	for _, p := range descendants() {
		if p.Parent != os.Getpid() || roleOf(p) == "database" { // the encoder of the streams goes on
			p.Kill()
		}
	}
	var errs []error
	for _, g := range env.gateways {
		errs = append(errs, g.kill(restartDelay))
	}
	return errors.Join(errs...)
}

func restartGateway(_ context.Context, env *environment, f fault) error {
	return env.gateways[f.gateway].restart()
}

func stopGateway(ctx context.Context, env *environment, f fault) error {
	s := env.gateways[f.gateway].current()
	if s == nil {
		return errNoTarget
	}
	_ = s.Signal(syscall.SIGSTOP)
	pause(ctx, f.duration)
	_ = s.Signal(syscall.SIGCONT)
	return nil
}

// targetTimeout is how long a fault waits for a process to affect.
const targetTimeout = 4 * time.Second

// onProcesses returns a fault that does something with processes, once there are some.
func onProcesses(find func(*environment, fault) []system.Process, do func(context.Context, fault, []system.Process)) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		for deadline := time.Now().Add(targetTimeout); time.Now().Before(deadline); pause(ctx, 10*time.Millisecond) {
			if found := find(env, f); len(found) > 0 {
				env.logf("%s: process %d, %s", f, found[0].PID, found[0].Command)
				do(ctx, f, found)
				return nil
			}
		}
		return errNoTarget
	}
}

func kill(_ context.Context, _ fault, processes []system.Process) { processes[0].Kill() }

// killBackend kills one of the database server's child processes. The postmaster then restarts all
// of them.
func killBackend(_ context.Context, f fault, processes []system.Process) {
	processes[len(processes)-1-f.parameter%max(1, len(processes)-1)].Kill()
}

// stop stops processes for a while.
func stop(ctx context.Context, f fault, processes []system.Process) {
	for _, p := range processes {
		p.Signal(syscall.SIGSTOP)
	}
	pause(ctx, f.duration)
	for _, p := range processes {
		p.Signal(syscall.SIGCONT)
	}
}

// withExpiredURL lets the monitor's media URLs expire first, so that the worker
// runs yt-dlp.
func withExpiredURL(inject injectFunc) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		env.youtube.ExpireNow(env.monitors[f.monitor].video)
		return inject(ctx, env, f)
	}
}

func restartDatabase(ctx context.Context, env *environment, f fault) error {
	if err := env.database.Stop(ctx); err != nil {
		return err
	}
	pause(ctx, f.duration)
	return env.startDatabase(context.WithoutCancel(ctx))
}

// disturbLinks returns a fault that disturbs links at the same time.
func disturbLinks(links func(*environment) []*link, what disturbance) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		var all sync.WaitGroup
		for _, l := range links(env) {
			all.Go(func() { l.disturb(ctx, what, f.duration) })
		}
		all.Wait()
		return nil
	}
}

func toDatabase(env *environment) []*link  { return []*link{env.databaseLink} }
func toReceivers(env *environment) []*link { return env.receiverLinks }

func toGateways(env *environment) (links []*link) {
	for _, g := range env.gateways {
		links = append(links, g.link)
	}
	return links
}

// maxFailedDeliveries is how many deliveries in a row a receiver fault makes
// fail. The fourth failure would end the monitor (decision W4), and another
// fault may cause one more.
const maxFailedDeliveries = 2

// disturbReceivers returns a fault in which the receivers answer their next deliveries with
// response, and every channel all of them.
func disturbReceivers(response httpfault.Fault) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		defer env.callback.Inject(maxFailedDeliveries, response)()
		defer env.webhook.Inject(maxFailedDeliveries, response)()
		for _, c := range env.channels {
			c.Fail(channel.Fault{HTTP: response})
			defer c.Recover()
		}
		pause(ctx, f.duration)
		return nil
	}
}

// acceptAndHangUp accepts a webhook and closes the connection without a
// response.
func acceptAndHangUp(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// withClockOff sets the clocks of all gateways an hour ahead or behind while a fault is injected. A
// worker that starts meanwhile keeps running when the clock is right again.
func withClockOff(inject injectFunc) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		offset := time.Hour
		if f.parameter%2 == 0 {
			offset = -time.Hour
		}
		for _, g := range env.gateways {
			defer func() { _ = g.setClock(g.plan.clockOffset) }()
			if err := g.setClock(offset); err != nil {
				return err
			}
		}
		err := inject(ctx, env, f)
		pause(ctx, f.duration)
		return err
	}
}

func nothing(context.Context, *environment, fault) error { return nil }

func dataDir(env *environment, f fault) string     { return env.gateways[f.gateway].dataDir }
func databaseDir(env *environment, _ fault) string { return env.databaseDir() }

// fillDisk returns a fault that leaves no free space on a disk.
func fillDisk(of func(*environment, fault) string) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		file, err := os.Create(filepath.Join(of(env, f), "ballast"))
		if err != nil {
			return fmt.Errorf("%w: %w", errNoTarget, err)
		}
		block := make([]byte, 1<<20)
		for len(block) > 0 {
			if _, err := file.Write(block); err != nil {
				block = block[:len(block)/2]
			}
		}
		for until := time.Now().Add(f.duration); time.Now().Before(until) && ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
			_, _ = file.Write(make([]byte, 4<<10)) // other programs may free space meanwhile
		}
		return errors.Join(file.Close(), os.Remove(file.Name()))
	}
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
