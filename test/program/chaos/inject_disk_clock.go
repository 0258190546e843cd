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

// clockSetting is an offset that the clock of a gateway and its workers was
// set to.
type clockSetting struct {
	at     time.Time
	offset time.Duration
}

// setClockOffset sets the clock offset of a gateway and its workers, and
// records it.
func (env *environment) setClockOffset(gateway int, offset time.Duration) error {
	g := env.gateways[gateway]
	env.mu.Lock()
	g.clock = append(g.clock, clockSetting{time.Now(), offset})
	env.mu.Unlock()
	return replaceFile(g.clockFile, offset.String())
}

// resetClock ends a fault of a gateway's clock.
func (env *environment) resetClock(gateway int) error {
	return env.setClockOffset(gateway, env.schedule.gateways[gateway].clockOffset)
}

func fillData(ctx context.Context, env *environment, f fault) error {
	return env.fillDisk(ctx, f, env.target(f).dataDir)
}

func fillDatabase(ctx context.Context, env *environment, f fault) error {
	return env.fillDisk(ctx, f, env.path("postgres"))
}

// fillDisk leaves no free space on a disk while the fault lasts.
func (env *environment) fillDisk(ctx context.Context, f fault, at string) error {
	env.logf("%s", f)
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

// hourOffset is the clock offset of a fault: an hour ahead or behind.
func hourOffset(f fault) time.Duration {
	if f.parameter%2 == 0 {
		return time.Hour
	}
	return -time.Hour
}

func offsetGatewayClock(ctx context.Context, env *environment, f fault) error {
	env.logf("%s: offset %s", f, hourOffset(f))
	if err := env.setClockOffset(f.gateway, hourOffset(f)); err != nil {
		return err
	}
	pause(ctx, f.duration)
	return env.resetClock(f.gateway)
}

// killWorkerWithClockOff kills a worker while the clock is an hour off. Its
// successor starts with the wrong time and keeps running when the clock is
// right again.
func killWorkerWithClockOff(ctx context.Context, env *environment, f fault) error {
	for n := range env.gateways { // any of them may launch the successor
		if err := env.setClockOffset(n, hourOffset(f)); err != nil {
			return err
		}
		defer func() { _ = env.resetClock(n) }()
	}
	p, err := waitForTarget(ctx, env, f, workerRole)
	if err != nil {
		return err
	}
	env.logf("%s: offset %s, %s", f, hourOffset(f), p)
	p.signal(killSignal)
	pause(ctx, f.duration)
	return nil
}

// replaceFile replaces a file atomically: a reader sees either the old text or
// the new one.
func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
