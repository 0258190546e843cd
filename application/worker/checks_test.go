package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lateChecks runs a worker with a check interval of 2 s for two minutes. Each analysis takes
// so long. The configuration is changed every half minute before. It returns the lines about
// late checks.
func lateChecks(t *testing.T, analysis time.Duration, changes ...func(*monitor.Config)) (lines []lateLine) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		delays := worker.NewCheckDelays(slog.New(slog.NewJSONHandler(&log, nil)))
		s, g := &fakeStream{analyse: func(context.Context) { time.Sleep(analysis) }}, newFakeGateway()
		stop := runWorker(t, ports(s, g), func(c *worker.Config) { c.Delays = delays })
		for _, change := range changes {
			time.Sleep(30 * time.Second)
			g.change(change)
		}
		time.Sleep(2 * time.Minute)
		stop()
		delays.Close()
		for line := range bytes.Lines(log.Bytes()) {
			var l lateLine
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, l)
		}
	})
	return lines
}

type lateLine struct {
	Late    int     `json:"late"`
	Checks  int     `json:"checks"`
	Largest float64 `json:"largest_delay_sec"`
}

func TestLateChecksAreLoggedOnceAMinute(t *testing.T) {
	set := func(interval int) func(*monitor.Config) {
		return func(c *monitor.Config) { c.CheckIntervalSec = interval }
	}
	for name, c := range map[string]struct {
		analysis time.Duration
		changes  []func(*monitor.Config)
		late     int // a check begins every 13 s, and all but the first are late
		of       int // checks
	}{
		"none is late":                         {100 * time.Millisecond, nil, 0, 0},
		"all are late":                         {13 * time.Second, nil, 9, 10},
		"changes of the interval move them":    {100 * time.Millisecond, []func(*monitor.Config){set(300), set(2)}, 0, 0},
		"late ones after a change are so, too": {13 * time.Second, []func(*monitor.Config){set(3)}, 11, 12},
	} {
		t.Run(name, func(t *testing.T) {
			late, of, largest := 0, 0, 0.0
			lines := lateChecks(t, c.analysis, c.changes...)
			for _, l := range lines {
				late, of, largest = late+l.Late, of+l.Checks, max(largest, l.Largest)
			}
			if late != c.late || of != c.of || late > 0 && (largest < 2 || largest > 13) {
				t.Errorf("%d of %d checks are late, by %.1f s at most", late, of, largest)
			}
			if (len(lines) > 0) != (late > 0) || len(lines) > 4 { // at once, once a minute, and at the end
				t.Errorf("%d lines in two minutes: %+v", len(lines), lines)
			}
		})
	}
}

// Forty workers start at the same instant, as after a restart. Their checks must not stay at
// one instant of the interval of 2 s.
func TestChecksOfWorkersThatStartAtOnceAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, parts = 40, 8
		var mu sync.Mutex
		checks := make([]int, parts) // of each part of the interval
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		var waits []func() error
		for n := range workers {
			s := &fakeStream{analyse: func(context.Context) {
				mu.Lock()
				defer mu.Unlock()
				if passed := time.Since(began); passed > 10*time.Second {
					checks[passed%(2*time.Second)*parts/(2*time.Second)]++
				}
			}}
			waits = append(waits, startWorker(ctx, t, s, newFakeGateway(), func(c *worker.Config) {
				c.ID, c.SpreadChecks = monitor.NewID([16]byte{15: byte(n)}), true
			}))
		}
		time.Sleep(time.Minute)
		stop()
		for _, wait := range waits {
			endsWell(t, wait)
		}
		mu.Lock()
		defer mu.Unlock()
		total := 0
		for _, n := range checks {
			total += n
		}
		if busiest := slices.Max(checks); total < workers*20 || busiest > 3*total/parts {
			t.Errorf("checks in each part of the interval: %s", fmt.Sprint(checks))
		}
	})
}

// A thousand inline workers share a process.
func TestAWorkerBetweenTwoChecksHasFourGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 20
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(t.Context())
		var waits []func() error
		for range workers {
			waits = append(waits, startWorker(ctx, t, &fakeStream{}, newFakeGateway()))
		}
		time.Sleep(time.Minute)
		fewest := math.MaxInt // a check of some workers may be under way
		for range 20 {
			time.Sleep(time.Second)
			synctest.Wait()
			fewest = min(fewest, runtime.NumGoroutine()-before)
		}
		// The loop, the reporter, and those that wait for a revision and for evidence.
		if fewest > 4*workers {
			t.Errorf("%d goroutines of %d workers", fewest, workers)
		}
		cancel()
		for _, wait := range waits {
			endsWell(t, wait)
		}
	})
}
