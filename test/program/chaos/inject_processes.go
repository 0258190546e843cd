//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func killGateway(_ context.Context, env *environment, f fault) error {
	if err := env.gateways[f.gateway].kill(f.down); err != nil {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	return nil
}

// killAll kills every process of the environment at once, like a power failure.
func killAll(_ context.Context, env *environment, f fault) error {
	processes := env.processes.snapshot(env.tempDir)
	for _, p := range env.postgresProcesses() {
		p.signal(killSignal)
	}
	for _, p := range processes {
		if p.role != gatewayRole {
			p.signal(killSignal)
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
	run := env.gateways[f.gateway].current()
	if run == nil {
		return errNoTarget
	}
	if err := run.service.Signal(stopSignal); err != nil {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	pause(ctx, f.duration)
	_ = run.service.Signal(continueSignal)
	return nil
}

func killProcess(r role) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		p, err := waitForTarget(ctx, env, f, r)
		if err == nil {
			p.signal(killSignal)
		}
		return err
	}
}

func stopProcess(r role) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		p, err := waitForTarget(ctx, env, f, r)
		if err == nil {
			p.signal(stopSignal)
			pause(ctx, f.duration)
			p.signal(continueSignal)
		}
		return err
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

// postgresProcesses returns the processes of the environment's database server,
// the postmaster first. It returns none if no server runs.
func (env *environment) postgresProcesses() []process {
	pid := 0
	if env.database != nil {
		pid = env.database.pid()
	} else if text, err := os.ReadFile(filepath.Join(env.dataDir(0), "postgres", "postmaster.pid")); err == nil {
		first, _, _ := strings.Cut(string(text), "\n")
		pid, _ = strconv.Atoi(first)
	}
	// The id in a stale file may belong to another process.
	commandLine, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || !bytes.Contains(commandLine, []byte(env.dir+"/")) {
		return nil
	}
	return processTree(pid)
}

func killDatabase(_ context.Context, env *environment, f fault) error {
	processes := env.postgresProcesses()
	if len(processes) == 0 {
		return errNoTarget
	}
	processes[0].signal(killSignal)
	return nil
}

// killBackend kills one of the server's child processes. The postmaster then
// restarts all of them.
func killBackend(_ context.Context, env *environment, f fault) error {
	processes := env.postgresProcesses()
	if len(processes) < 2 {
		return errNoTarget
	}
	p := processes[1+f.parameter%(len(processes)-1)]
	p.signal(killSignal)
	return nil
}

func stopDatabase(ctx context.Context, env *environment, f fault) error {
	processes := env.postgresProcesses()
	if len(processes) == 0 {
		return errNoTarget
	}
	for _, p := range processes {
		p.signal(stopSignal)
	}
	pause(ctx, f.duration)
	for _, p := range processes {
		p.signal(continueSignal)
	}
	return nil
}

func restartDatabase(_ context.Context, env *environment, f fault) error {
	env.database.stop(0)
	return nil
}

func keepDatabaseDown(ctx context.Context, env *environment, f fault) error {
	env.database.stop(f.duration)
	pause(ctx, f.duration)
	return nil
}
