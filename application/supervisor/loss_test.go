package supervisor_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Decision O3.
func TestLostWorkers(t *testing.T) {
	for _, how := range []string{"exit status 2", "killed by SIGKILL", "exit status 0"} {
		scenario(t, "a worker lost by "+how+" ends its monitor with an error", func(t *testing.T) {
			m := registered("mon-a")
			h := newHouse(t, m).open()
			defer h.close()
			h.sup.Start(m)
			h.after(time.Minute)
			h.launcher.dies("mon-a", how)
			h.after(2 * time.Second)
			h.expectGivenUp("mon-a", "worker_lost", how)
			h.expectCalls("launch mon-a 1")
		})
	}

	scenario(t, "a worker that ends after its final report is no loss", func(t *testing.T) {
		m := registered("mon-a")
		h := newHouse(t, m).open()
		defer h.close()
		h.sup.Start(m)
		h.after(time.Minute)
		h.roster.set(func(r *roster) {
			m.Status = monitor.Completed
			r.monitors["mon-a"] = m
		})
		h.launcher.dies("mon-a", "exit status 0")
		h.after(time.Minute)
		if s := h.roster.get("mon-a").Status; s != monitor.Completed || len(h.roster.told()) != 0 {
			t.Errorf("status %s and %d events, want completed and none", s, len(h.roster.told()))
		}
	})

	scenario(t, "a worker that was replaced is no loss", func(t *testing.T) {
		m := registered("mon-a")
		h := newHouse(t, m).open()
		defer h.close()
		h.sup.Start(m)
		h.after(time.Second)
		h.launcher.exits <- supervisor.Exit{ID: "mon-a", Generation: 1, Detail: "exit status 0", Clean: true}
		next, _ := h.roster.AdvanceGeneration(t.Context(), "mon-a", 1, "here")
		h.sup.Start(next)
		h.after(time.Minute)
		h.expectActive("mon-a")
		h.expectCalls("launch mon-a 1", "launch mon-a 2")
	})

	scenario(t, "a worker that replaced another is watched in its turn", func(t *testing.T) {
		m := registered("mon-a")
		h := newHouse(t, m).open()
		defer h.close()
		h.sup.Start(m)
		h.after(time.Second)
		h.launcher.set(func(l *launcher) { l.slow = 3 * time.Second })
		next, _ := h.roster.AdvanceGeneration(t.Context(), "mon-a", 1, "here")
		h.sup.Start(next)
		h.after(time.Minute)
		h.expectActive("mon-a")
		h.launcher.dies("mon-a", "exit status 2")
		h.after(time.Minute)
		h.expectGivenUp("mon-a", "worker_lost", "exit status 2")
	})

	scenario(t, "a worker that another gateway has replaced is no loss", func(t *testing.T) {
		m := registered("mon-a")
		h := newHouse(t, m).open()
		defer h.close()
		h.sup.Start(m)
		h.after(time.Second)
		_, _ = h.roster.AdvanceGeneration(t.Context(), "mon-a", 1, "here")
		h.launcher.dies("mon-a", "exit status 0")
		h.after(time.Minute)
		h.expectActive("mon-a")
	})

	scenario(t, "an exit of nobody is no news", func(t *testing.T) {
		h := newHouse(t, registered("mon-a")).open()
		defer h.close()
		h.launcher.exits <- supervisor.Exit{ID: "mon-a", Generation: 1, Detail: "exit status 1"}
		h.after(time.Minute)
		h.expectActive("mon-a")
	})

	scenario(t, "a loss that the database cannot be told of is told once, later", func(t *testing.T) {
		m := registered("mon-a")
		h := newHouse(t, m).open()
		defer h.close()
		h.sup.Start(m)
		h.after(time.Minute)
		h.roster.set(func(r *roster) { r.down = true })
		h.launcher.dies("mon-a", "exit status 2")
		h.after(10 * time.Minute)
		if h.roster.reads > 130 {
			t.Errorf("asked %d times in 10 minutes", h.roster.reads)
		}
		h.roster.set(func(r *roster) { r.down = false })
		h.after(time.Minute)
		h.expectGivenUp("mon-a", "worker_lost", "exit status 2")
	})

	scenario(t, "a stop while a loss is being looked into ends that", func(t *testing.T) {
		m := registered("mon-a")
		h := newHouse(t, m).open()
		defer h.close()
		h.sup.Start(m)
		h.after(time.Minute)
		h.launcher.dies("mon-a", "exit status 2")
		h.after(500 * time.Millisecond)
		h.sup.Stop("mon-a")
		h.after(time.Minute)
		h.expectActive("mon-a")
		h.expectCalls("launch mon-a 1", "stop mon-a")
	})
}

func TestShutdown(t *testing.T) {
	scenario(t, "a shutdown ends no monitor, even if workers went first", func(t *testing.T) {
		m := registered("mon-a")
		h := newHouse(t, m).open()
		h.sup.Start(m)
		h.after(time.Minute)
		h.launcher.dies("mon-a", "killed by SIGTERM")
		h.after(500 * time.Millisecond)
		h.close()
		h.after(time.Minute)
		h.expectActive("mon-a")
		h.expectCalls("launch mon-a 1")
	})

	scenario(t, "a shutdown does not wait for a launch or a stop", func(t *testing.T) {
		a, b := registered("mon-a"), registered("mon-b")
		h := newHouse(t, a, b).open()
		h.launcher.ending, h.launcher.slow = 30*time.Second, 30*time.Second
		h.sup.Start(a)
		h.sup.Stop("mon-b")
		h.after(time.Second)
		asked := time.Now()
		h.close()
		if took := time.Since(asked); took != 0 {
			t.Errorf("took %v", took)
		}
		h.expectActive("mon-a")
	})

	scenario(t, "a launcher that is closed leaves it running", func(t *testing.T) {
		h := newHouse(t).open()
		defer h.close()
		close(h.launcher.exits)
		h.after(time.Minute)
		h.sup.Stop("mon-a")
		h.after(0)
		h.expectCalls("stop mon-a")
	})
}
