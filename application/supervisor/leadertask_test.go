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

// counting runs a gateway with a task every two seconds that counts its runs.
func counting(t *testing.T, leader string, result error) (h *harness, runs *atomic.Int64) {
	h, runs = newHarness(t), new(atomic.Int64)
	h.store.leader = leader
	h.cfg.LeaderTasks = []supervisor.LeaderTask{{Name: "count", Every: 2 * time.Second, Run: func(context.Context) error {
		runs.Add(1)
		return result
	}}}
	return h.run(), runs
}

func TestOnlyTheLeaderRunsItsTasks(t *testing.T) {
	scenario(t, "the leader runs a task at its interval until it is stopped", func(t *testing.T) {
		h, runs := counting(t, "", nil)
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
		h, runs := counting(t, "another", nil)
		h.advance(20 * time.Second)
		if n := runs.Load(); n != 0 {
			t.Errorf("%d runs without the lead", n)
		}
		h.store.set(func(d *database) { d.leader = "" })
		h.advance(20 * time.Second)
		if runs.Load() == 0 {
			t.Error("no run after the election")
		}
	})

	scenario(t, "a task that fails is tried again, more and more slowly", func(t *testing.T) {
		h, runs := counting(t, "", errors.New("the disk is full"))
		h.advance(10 * time.Minute)
		if n := runs.Load(); n < 10 || n > 20 {
			t.Errorf("%d runs in 10 minutes of failures", n)
		}
		if text := h.log.String(); !strings.Contains(text, "task=count") || !strings.Contains(text, "the disk is full") {
			t.Errorf("the log does not name the task and its error: %s", text)
		}
	})
}

func TestALeaderTaskIsComplete(t *testing.T) {
	run := func(context.Context) error { return nil }
	for _, task := range []supervisor.LeaderTask{{Every: 1, Run: run}, {Name: "a", Run: run}, {Name: "a", Every: 1}} {
		_, err := supervisor.New(newFakeStore(), newFakeLauncher().connect(), supervisor.Config{
			NewEventID: func() string { return "" }, LeaderTasks: []supervisor.LeaderTask{task},
		})
		if err == nil {
			t.Errorf("%+v is accepted", task)
		}
	}
}
