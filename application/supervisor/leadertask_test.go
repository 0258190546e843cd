package supervisor_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// counting is a task every two seconds that counts its runs.
func counting(runs *atomic.Int64, result error) func(*supervisor.Config) {
	return func(c *supervisor.Config) {
		c.LeaderTasks = []supervisor.LeaderTask{{Name: "count", Every: 2 * time.Second, Run: func(context.Context) error {
			runs.Add(1)
			return result
		}}}
	}
}

func TestOnlyTheLeaderRunsItsTasks(t *testing.T) {
	scenario(t, "the leader runs a task at its interval until it is stopped", func(t *testing.T) {
		var runs atomic.Int64
		h := newHarnessOn(t, newFakeStore(), counting(&runs, nil)).run()
		h.advance(5 * time.Second) // the first comparison finds out who leads
		before := runs.Load()
		h.advance(20 * time.Second)
		if n := runs.Load() - before; n != 10 {
			t.Errorf("%d runs in 20 s, want 10", n)
		}
		h.stop()
		before = runs.Load()
		h.advance(20 * time.Second)
		if n := runs.Load() - before; n != 0 {
			t.Errorf("%d runs after the stop", n)
		}
	})

	scenario(t, "a gateway that does not lead runs nothing until it leads", func(t *testing.T) {
		var runs atomic.Int64
		all := newFakeStore()
		all.set(func(r *fakeStore) { r.otherLeads = true })
		h := newHarnessOn(t, all, counting(&runs, nil)).run()
		h.advance(20 * time.Second)
		if n := runs.Load(); n != 0 {
			t.Errorf("%d runs without the lead", n)
		}
		all.set(func(r *fakeStore) { r.otherLeads = false })
		h.advance(20 * time.Second)
		if runs.Load() == 0 {
			t.Error("no run after the election")
		}
		h.stop()
	})

	scenario(t, "a task that fails is tried again, more and more slowly", func(t *testing.T) {
		var runs atomic.Int64
		h := newHarnessOn(t, newFakeStore(), counting(&runs, errors.New("the disk is full"))).run()
		h.advance(10 * time.Minute)
		if n := runs.Load(); n < 10 || n > 20 {
			t.Errorf("%d runs in 10 minutes of failures", n)
		}
		if text := h.log.String(); !strings.Contains(text, "task=count") || !strings.Contains(text, "the disk is full") {
			t.Errorf("the log does not name the task and its error: %s", text)
		}
		h.stop()
	})
}

func TestALeaderTaskIsComplete(t *testing.T) {
	run := func(context.Context) error { return nil }
	for _, task := range []supervisor.LeaderTask{{Every: 1, Run: run}, {Name: "a", Run: run}, {Name: "a", Every: 1}} {
		_, err := supervisor.New(newFakeStore(), newFakeLauncher(), supervisor.Config{
			NewEventID: func() string { return "" }, LeaderTasks: []supervisor.LeaderTask{task},
		})
		if err == nil {
			t.Errorf("%+v is accepted", task)
		}
	}
}
