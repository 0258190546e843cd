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

// setting is what the gateway's clock was set to, and its workers' with it.
type clockSetting struct {
	at     time.Time
	offset time.Duration
}

// setClock sets it.
func (env *environment) setClockOffset(by time.Duration) error {
	env.mu.Lock()
	env.clockSettings = append(env.clockSettings, clockSetting{time.Now(), by})
	env.mu.Unlock()
	return replaceFile(env.path("clock"), by.String())
}

func fillData(ctx context.Context, env *environment, f fault) error {
	return env.fillDisk(ctx, f, env.dataDir())
}

func fillDatabase(ctx context.Context, env *environment, f fault) error {
	return env.fillDisk(ctx, f, env.path("postgres"))
}

// fill leaves no room on a disk for a while.
func (env *environment) fillDisk(ctx context.Context, f fault, at string) error {
	env.logf("%s", f)
	ballast := filepath.Join(at, "ballast")
	file, err := os.Create(ballast)
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
		_, _ = file.Write(make([]byte, 4<<10)) // what is freed meanwhile
		pause(ctx, 100*time.Millisecond)
	}
	return errors.Join(file.Close(), os.Remove(ballast))
}

// hour is the step of a clock, forwards or back.
func hourOffset(f fault) time.Duration {
	if f.parameter%2 == 0 {
		return time.Hour
	}
	return -time.Hour
}

func offsetGatewayClock(ctx context.Context, env *environment, f fault) error {
	env.logf("%s: by %s", f, hourOffset(f))
	if err := env.setClockOffset(hourOffset(f)); err != nil {
		return err
	}
	pause(ctx, f.duration)
	return env.setClockOffset(0)
}

// killOffTime has a worker's successor begin with the wrong time, and go on with
// it when the clock is right again.
func killWorkerWithClockOff(ctx context.Context, env *environment, f fault) error {
	if err := env.setClockOffset(hourOffset(f)); err != nil {
		return err
	}
	defer func() { _ = env.setClockOffset(0) }()
	p, err := waitForTarget(ctx, env, f, workerRole)
	if err != nil {
		return err
	}
	env.logf("%s: by %s, %s", f, hourOffset(f), p)
	p.signal(killSignal)
	pause(ctx, f.duration)
	return nil
}

func offsetDatabaseClock(ctx context.Context, env *environment, f fault) error {
	env.logf("%s: by %s", f, hourOffset(f))
	if err := replaceFile(env.path("postgres-clock"), fmt.Sprintf("%+ds\n", int(hourOffset(f).Seconds()))); err != nil {
		return err
	}
	pause(ctx, f.duration)
	return replaceFile(env.path("postgres-clock"), "+0\n")
}

// stepped does something else while the database has the wrong time, so that
// what it then writes down is of that time.
func withDatabaseClockOff(then func(context.Context, *environment, fault) error) func(context.Context, *environment, fault) error {
	return func(ctx context.Context, env *environment, f fault) error {
		if err := replaceFile(env.path("postgres-clock"), fmt.Sprintf("%+ds\n", int(hourOffset(f).Seconds()))); err != nil {
			return err
		}
		env.logf("PostgreSQL's clock is off by %s", hourOffset(f))
		return errors.Join(then(ctx, env, f), replaceFile(env.path("postgres-clock"), "+0\n"))
	}
}

// replace changes a file so that a reader sees all of it.
func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
