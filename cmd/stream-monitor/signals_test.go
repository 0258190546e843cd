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

func TestSignals(t *testing.T) {
	const apart = 50 * time.Millisecond
	for name, c := range map[string]struct {
		pauses []time.Duration // before each signal
		want   string
	}{
		"the first asks, the second hurries": {[]time.Duration{0, apart}, "end hasten "},
		"two at once are one":                {[]time.Duration{0, time.Millisecond}, "end "},
		"two at once, then one more":         {[]time.Duration{0, time.Millisecond, apart}, "end hasten "},
		"a third is not heeded":              {[]time.Duration{0, apart, apart}, "end hasten "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, released := make(chan os.Signal, len(c.pauses)), make(chan struct{})
				var steps string
				over := start(func(_ context.Context) {
					heed(asked, released, func() { steps += "end " }, func() { steps += "hasten " })
				})
				for _, pause := range c.pauses {
					time.Sleep(pause)
					asked <- syscall.SIGTERM
				}
				synctest.Wait()
				close(released)
				over.stop()
				if steps != c.want {
					t.Errorf("did %q, want %q", steps, c.want)
				}
			})
		})
	}
}

func TestAllWaysToAsk(t *testing.T) {
	// The tests themselves may run under nohup.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	t.Cleanup(func() { signal.Reset(syscall.SIGHUP) })
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !slices.Contains(endings(), sig) {
			t.Errorf("%v does not ask it to end", sig)
		}
	}
	t.Run("but not with a terminal that it is told to outlive", func(t *testing.T) {
		signal.Ignore(syscall.SIGHUP)
		if slices.Contains(endings(), os.Signal(syscall.SIGHUP)) {
			t.Error("SIGHUP asks it to end, under nohup")
		}
	})
}
