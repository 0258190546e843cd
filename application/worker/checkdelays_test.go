package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
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

func TestChecksOnTimeAreNotLogged(t *testing.T) {
	if lines := lateChecks(t, 100*time.Millisecond); len(lines) > 0 {
		t.Errorf("logged: %+v", lines)
	}
}

func TestLateChecksAreLoggedOnceAMinute(t *testing.T) {
	lines := lateChecks(t, 13*time.Second)
	late, checks, largest := 0, 0, 0.0
	for _, l := range lines {
		late, checks, largest = late+l.Late, checks+l.Checks, max(largest, l.Largest)
	}
	if len(lines) < 2 || len(lines) > 4 { // at once, once a minute, and at the end
		t.Errorf("%d lines in two minutes: %+v", len(lines), lines)
	}
	// A check begins every 13 s; all but the first are late.
	if late != 9 || checks != 10 || largest < 2 || largest > 13 {
		t.Errorf("%d of %d checks late, by %.1f s at most", late, checks, largest)
	}
}

func TestACheckThatAChangeOfTheConfigurationMovedIsNotLate(t *testing.T) {
	set := func(interval int) func(*monitor.Config) {
		return func(c *monitor.Config) { c.CheckIntervalSec = interval }
	}
	if lines := lateChecks(t, 100*time.Millisecond, set(300), set(2)); len(lines) > 0 {
		t.Errorf("logged: %+v", lines)
	}
	t.Run("a later one that is late is", func(t *testing.T) {
		if lines := lateChecks(t, 13*time.Second, set(3)); len(lines) < 2 {
			t.Errorf("logged: %+v", lines)
		}
	})
}
