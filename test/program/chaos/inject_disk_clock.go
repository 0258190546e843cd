//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// setClockOffset sets the clock offset of a gateway and its workers. They see either the old
// file or the new one.
func (env *environment) setClockOffset(gateway int, offset time.Duration) error {
	path := env.gateways[gateway].clockFile
	if err := os.WriteFile(path+".new", []byte(offset.String()), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// offsetClock sets the clock of a gateway to the offset of a fault, an hour ahead or behind,
// until reset is called.
func (env *environment) offsetClock(f fault, gateway int) (reset func(), err error) {
	offset := time.Hour
	if f.parameter%2 == 0 {
		offset = -time.Hour
	}
	env.logf("%s: gateway %d, offset %s", f, gateway+1, offset)
	return func() { _ = env.setClockOffset(gateway, env.schedule.gateways[gateway].clockOffset) }, env.setClockOffset(gateway, offset)
}

func offsetGatewayClock(ctx context.Context, env *environment, f fault) error {
	reset, err := env.offsetClock(f, f.gateway)
	defer reset()
	pause(ctx, f.duration)
	return err
}

// killWorkerWithClockOff kills a worker while the clock is an hour off. Its
// successor starts with the wrong time and keeps running when the clock is
// right again.
func killWorkerWithClockOff(ctx context.Context, env *environment, f fault) error {
	for n := range env.gateways { // any of them may launch the successor
		reset, err := env.offsetClock(f, n)
		defer reset()
		if err != nil {
			return err
		}
	}
	err := killProcess(workerRole)(ctx, env, f)
	if err == nil {
		pause(ctx, f.duration)
	}
	return err
}

func fillData(ctx context.Context, env *environment, f fault) error {
	return env.fillDisk(ctx, f, env.gateways[f.gateway].dataDir)
}

func fillDatabase(ctx context.Context, env *environment, f fault) error {
	return env.fillDisk(ctx, f, env.path("postgres"))
}

// fillDisk leaves no free space on a disk while the fault lasts.
func (env *environment) fillDisk(ctx context.Context, f fault, at string) error {
	path := filepath.Join(at, "ballast")
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := file.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	for until := time.Now().Add(f.duration); time.Now().Before(until) && ctx.Err() == nil; {
		_, _ = file.Write(make([]byte, 4<<10)) // other programs may free space meanwhile
		pause(ctx, 100*time.Millisecond)
	}
	return errors.Join(file.Close(), os.Remove(path))
}
