package supervisor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Decision O3.
func TestRelaunching(t *testing.T) {
	start := func(t *testing.T) *house {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
		h.sup.Start(h.roster.get("mon-a"))
		h.after(time.Second)
		return h
	}

	scenario(t, "a worker that was lost is replaced at once, in the next generation", func(t *testing.T) {
		h := start(t)
		defer h.close()
		h.launcher.dies("mon-a", "killed by SIGKILL")
		h.after(1100 * time.Millisecond)
		h.expectCalls("launch mon-a 1", "launch mon-a 2")
		h.expectActive("mon-a")
	})

	scenario(t, "five times in ten minutes, more slowly each time, then the monitor ends", func(t *testing.T) {
		h := start(t)
		defer h.close()
		want := []string{"launch mon-a 1"}
		for n := range 5 {
			h.launcher.dies("mon-a", "exit status 2")
			h.after(time.Duration(min(max(1, 1<<n/2), 5))*time.Second - time.Millisecond)
			h.expectCalls(want...)
			h.after(time.Millisecond)
			want = append(want, fmt.Sprintf("launch mon-a %d", n+2))
			h.expectCalls(want...)
		}
		h.launcher.dies("mon-a", "exit status 2")
		h.after(time.Minute)
		h.expectCalls(want...)
		h.expectGivenUp("mon-a", "worker_lost", "exit status 2; 5 relaunches in 10m0s did not help")
	})

	scenario(t, "once in a while for ever", func(t *testing.T) {
		h := start(t)
		defer h.close()
		for range 30 {
			h.launcher.dies("mon-a", "exit status 2")
			h.after(2*time.Minute + time.Second)
		}
		h.expectActive("mon-a")
		if g := h.launcher.generation("mon-a"); g != 31 {
			t.Errorf("generation %d runs", g)
		}
	})

	scenario(t, "a database that is away delays it", func(t *testing.T) {
		h := start(t)
		defer h.close()
		h.roster.set(func(r *roster) { r.down = true })
		h.launcher.dies("mon-a", "killed by SIGKILL")
		h.after(10 * time.Minute)
		h.expectCalls("launch mon-a 1")
		h.roster.set(func(r *roster) { r.down = false })
		h.after(30 * time.Second)
		h.expectCalls("launch mon-a 1", "launch mon-a 2")
	})

	for _, shared := range []bool{false, true} {
		scenario(t, fmt.Sprintf("one whose next generation is stored, and the answer lost, gets that (shared place: %v)", shared), func(t *testing.T) {
			here := newLauncher()
			here.place.Shared = shared
			h := houseWith(t, newRoster(watched("mon-a")), here, relaunching).open().looking()
			defer h.close()
			h.sup.Start(h.roster.get("mon-a"))
			h.after(time.Second)
			h.roster.set(func(r *roster) { r.lost.advance = 1 })
			h.launcher.dies("mon-a", "killed by SIGKILL")
			h.after(3 * time.Second) // the end settles, and one pause passes
			h.expectCalls("launch mon-a 1", "launch mon-a 2")
			h.expectActive("mon-a")
		})
	}

	scenario(t, "one whose next generation another place has stored is that place's", func(t *testing.T) {
		h := start(t)
		defer h.close()
		h.roster.set(func(r *roster) { r.lost.advance = 1 })
		h.launcher.dies("mon-a", "killed by SIGKILL")
		h.after(1500 * time.Millisecond)
		h.roster.set(func(r *roster) { m := r.monitors["mon-a"]; m.RuntimeID = "there"; r.monitors["mon-a"] = m })
		h.after(time.Minute)
		h.expectCalls("launch mon-a 1")
		h.expectActive("mon-a")
	})

	scenario(t, "one that is silent for 30 s is replaced, though it runs", func(t *testing.T) {
		h := start(t).looking()
		defer h.close()
		h.lives(time.Minute, "mon-a")
		h.after(29 * time.Second)
		h.expectCalls("launch mon-a 1")
		h.after(6 * time.Second)
		h.expectCalls("launch mon-a 1", "launch mon-a 2")
		if n := strings.Count(h.log.String(), "has not reported for 30s"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})

	scenario(t, "and with the other policy is ended with its monitor", func(t *testing.T) {
		h := newHouse(t, watched("mon-a")).open().looking()
		defer h.close()
		h.sup.Start(h.roster.get("mon-a"))
		h.after(40 * time.Second)
		h.expectGivenUp("mon-a", "worker_lost", "has not reported for 30s")
		h.expectCalls("launch mon-a 1", "stop mon-a")
	})

	scenario(t, "a database that nobody could report to makes nobody silent", func(t *testing.T) {
		h := start(t).looking()
		defer h.close()
		h.after(10 * time.Second)
		h.roster.set(func(r *roster) { r.down = true })
		h.after(time.Minute)
		h.roster.set(func(r *roster) { r.down = false })
		h.after(10 * time.Second)
		h.lives(time.Minute, "mon-a")
		h.expectCalls("launch mon-a 1")
	})

	scenario(t, "nor does one that could be read and not be written to", func(t *testing.T) {
		h := start(t).looking()
		defer h.close()
		h.roster.set(func(r *roster) { r.stuck = "mon-a" })
		h.after(55 * time.Second) // silent after 35 s, tried for 7 s, and again after 30 s
		h.roster.set(func(r *roster) { r.stuck = "" })
		h.after(8 * time.Second)
		h.roster.reports("mon-a", monitor.Monitoring)
		h.lives(time.Minute, "mon-a")
		if g := h.launcher.generation("mon-a"); g != 1 {
			t.Errorf("generation %d runs", g)
		}
	})

	scenario(t, "nor is one silent that was heard, though nothing could be stored", func(t *testing.T) {
		h := start(t).looking()
		defer h.close()
		for range 20 {
			h.after(10 * time.Second)
			h.sup.RenewLease("mon-a", 1)
		}
		h.expectCalls("launch mon-a 1")
	})

	scenario(t, "nor is one silent that reports while it is being replaced", func(t *testing.T) {
		h := start(t).looking()
		defer h.close()
		h.roster.set(func(r *roster) { r.stutters = 1 })
		h.after(35*time.Second + 500*time.Millisecond)
		h.expectCalls("launch mon-a 1")
	})

	scenario(t, "by this policy a launch that fails is tried for ten minutes", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a"), watched("mon-b")), relaunching).open()
		defer h.close()
		h.launcher.failing = 100
		h.sup.Start(h.roster.get("mon-a"))
		h.after(9 * time.Minute)
		h.expectActive("mon-a")
		h.launcher.set(func(l *launcher) { l.failing = 0 })
		h.after(10 * time.Second)
		if g := h.launcher.generation("mon-a"); g != 1 {
			t.Errorf("generation %d runs", g)
		}
		h.launcher.set(func(l *launcher) { l.failing = 1000 })
		h.sup.Start(h.roster.get("mon-b"))
		h.after(11 * time.Minute)
		h.expectGivenUp("mon-b", "launch_failed", "no room")
	})

	scenario(t, "nor is one silent that is being launched", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching)
		h.launcher.slow = 80 * time.Second
		h.open().looking()
		defer h.close()
		h.sup.Start(h.roster.get("mon-a"))
		h.after(100 * time.Second)
		h.expectCalls("launch mon-a 1")
	})
}
