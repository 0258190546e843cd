package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheSecondSignalForcesTheShutdown(t *testing.T) {
	const apart = 50 * time.Millisecond
	for name, c := range map[string]struct {
		pauses []time.Duration // before each signal
		want   string
	}{
		"the first asks, the second forces": {[]time.Duration{0, apart}, "end force "},
		"two at once are one":               {[]time.Duration{0, time.Millisecond}, "end "},
		"two at once, then one more":        {[]time.Duration{0, time.Millisecond, apart}, "end force "},
		"a third has no effect here":        {[]time.Duration{0, apart, apart}, "end force "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals, released := make(chan os.Signal, len(c.pauses)), make(chan struct{})
				var actions string
				listening := start(func(_ context.Context) {
					onEachSignal(signals, released, func() { actions += "end " }, func() { actions += "force " })
				})
				for _, pause := range c.pauses {
					time.Sleep(pause)
					signals <- syscall.SIGTERM
				}
				synctest.Wait()
				close(released)
				listening.stop()
				if actions != c.want {
					t.Errorf("called %q, want %q", actions, c.want)
				}
			})
		})
	}
}

func TestTheListedSignalsEndTheProcess(t *testing.T) {
	// The tests themselves may run under nohup.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	t.Cleanup(func() { signal.Reset(syscall.SIGHUP) })
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !slices.Contains(endSignals(), sig) {
			t.Errorf("%v does not end the process", sig)
		}
	}
	t.Run("SIGHUP stays ignored under nohup", func(t *testing.T) {
		signal.Ignore(syscall.SIGHUP)
		if slices.Contains(endSignals(), os.Signal(syscall.SIGHUP)) {
			t.Error("SIGHUP ends the process")
		}
	})
}
