//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func killGateway(_ context.Context, env *environment, f fault) error {
	env.logf("%s", f)
	if err := env.gateways.kill(); err != nil {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	return nil
}

// killPair kills a worker and, before the gateway can know, the gateway.
func killGatewayAndWorker(ctx context.Context, env *environment, f fault) error {
	p, err := waitForTarget(ctx, env, f, workerRole)
	if err != nil {
		return err
	}
	env.logf("%s: %s", f, p)
	p.signal(killSignal)
	return env.gateways.kill()
}

// killAll is a power cut: whatever runs ends at the same moment.
func killAll(_ context.Context, env *environment, f fault) error {
	family := env.processes.snapshot(env.tempDir)
	env.logf("%s: %d processes, and PostgreSQL", f, len(family))
	for _, p := range env.postgresProcesses() {
		p.signal(killSignal)
	}
	for _, p := range family {
		if p.role != gatewayRole {
			p.signal(killSignal)
		}
	}
	return env.gateways.kill()
}

func restartGateway(_ context.Context, env *environment, f fault) error {
	env.logf("%s", f)
	return env.gateways.restart()
}

func stopGateway(ctx context.Context, env *environment, f fault) error {
	run := env.gateways.latest()
	if run == nil {
		return errNoTarget
	}
	env.logf("%s", f)
	if err := run.service.Signal(stopSignal); err != nil {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	pause(ctx, f.duration)
	_ = run.service.Signal(continueSignal)
	return nil
}

func killProcess(r role) func(context.Context, *environment, fault) error {
	return func(ctx context.Context, env *environment, f fault) error {
		p, err := waitForTarget(ctx, env, f, r)
		if err != nil {
			return err
		}
		env.logf("%s: %s", f, p)
		p.signal(killSignal)
		return nil
	}
}

func stopProcess(r role) func(context.Context, *environment, fault) error {
	return func(ctx context.Context, env *environment, f fault) error {
		p, err := waitForTarget(ctx, env, f, r)
		if err != nil {
			return err
		}
		env.logf("%s: %s", f, p)
		p.signal(stopSignal)
		pause(ctx, f.duration)
		p.signal(continueSignal)
		return nil
	}
}

// expired has a worker look for its stream anew, so that a tool runs that runs
// rarely.
func withExpiredURL(then func(context.Context, *environment, fault) error) func(context.Context, *environment, fault) error {
	return func(ctx context.Context, env *environment, f fault) error {
		env.youtube.ExpireNow(env.monitors[f.monitor].video)
		return then(ctx, env, f)
	}
}

// postgres is the processes of the site's database server, the first one first;
// none runs just now, if there are none.
func (env *environment) postgresProcesses() []process {
	pid := 0
	if env.database != nil {
		pid = env.database.pid()
	} else if text, err := os.ReadFile(filepath.Join(env.dataDir(), "postgres", "postmaster.pid")); err == nil {
		first, _, _ := strings.Cut(string(text), "\n")
		pid, _ = strconv.Atoi(first)
	}
	// A stale file may name anybody.
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || !bytes.Contains(line, []byte(env.dir+"/")) {
		return nil
	}
	return processTree(listProcesses(nil), pid)
}

func killDatabase(_ context.Context, env *environment, f fault) error {
	family := env.postgresProcesses()
	if len(family) == 0 {
		return errNoTarget
	}
	env.logf("%s: process %d", f, family[0].pid)
	family[0].signal(killSignal)
	return nil
}

// killBackend kills one of the server's processes, after which it has all of
// them begin anew.
func killBackend(_ context.Context, env *environment, f fault) error {
	family := env.postgresProcesses()
	if len(family) < 2 {
		return errNoTarget
	}
	p := family[1+f.parameter%(len(family)-1)]
	env.logf("%s: process %d", f, p.pid)
	p.signal(killSignal)
	return nil
}

func stopDatabase(ctx context.Context, env *environment, f fault) error {
	family := env.postgresProcesses()
	if len(family) == 0 {
		return errNoTarget
	}
	env.logf("%s: %d processes", f, len(family))
	for _, p := range family {
		p.signal(stopSignal)
	}
	pause(ctx, f.duration)
	for _, p := range family {
		p.signal(continueSignal)
	}
	return nil
}

func restartDatabase(_ context.Context, env *environment, f fault) error {
	env.logf("%s", f)
	env.database.stop(syscall.SIGINT, false)
	return nil
}

func keepDatabaseDown(ctx context.Context, env *environment, f fault) error {
	env.logf("%s", f)
	env.database.stop(syscall.SIGINT, true)
	pause(ctx, f.duration)
	env.database.allowStart()
	return nil
}
