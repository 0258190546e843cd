package supervisor_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// Decisions O2, O3 and O5.
func TestLostWorkersOfEveryRuntimeAreReplaced(t *testing.T) {
	scenario(t, "a worker of another runtime is replaced only when its lease has expired", func(t *testing.T) {
		m := monitored("mon-a")
		m.RuntimeID = "there"
		h := newHarness(t, m).relaunching().started()
		h.reportFor(100*time.Second, "mon-a")
		h.expectCalls()
		h.advance(28 * time.Second)
		h.expectCalls()
		h.advance(10 * time.Second)
		h.expectCalls("launch mon-a 2")
		if p := h.store.get("mon-a").RuntimeID; p != "here" {
			t.Errorf("it is at %q", p)
		}
	})

	scenario(t, "a worker whose successor runs in another runtime is ended", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).relaunching().started("mon-a")
		h.advance(time.Second)
		if _, err := h.store.AdvanceGeneration(t.Context(), "mon-a", 1, "there"); err != nil {
			t.Fatal(err)
		}
		h.reportFor(20*time.Second, "mon-a")
		h.expectCalls("launch mon-a 1", "stop mon-a")
		h.expectActive("mon-a")
	})

	scenario(t, "a monitor that is being promoted is not missed", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", 0)).relaunching()
		h.store.lostAnswers.promote = 4 // answers, so that 15 s pass
		h.run()
		h.advance(20 * time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "the worker of a monitor registered just now is not orphaned", func(t *testing.T) {
		h := newHarness(t)
		h.launcher.running["mon-a"] = 1
		h.store.set(func(r *database) { r.hiddenID = "mon-a"; r.monitors["mon-a"] = monitored("mon-a") })
		h.started()
		h.advance(time.Second)
		h.expectCalls()
	})

	scenario(t, "a gateway that is not the leader replaces only its own workers", func(t *testing.T) {
		own, others := monitored("mon-own"), monitored("mon-other")
		others.RuntimeID, others.UpdatedAt = "there", time.Now().Add(-time.Minute)
		h := newHarness(t, own, others).relaunching()
		h.store.leader = "another"
		h.started()
		h.advance(time.Minute)
		h.expectCalls("launch mon-own 2")
	})

	scenario(t, "in a shared runtime a generation that was never launched is launched", func(t *testing.T) {
		m := monitored("mon-a")
		m.ReportedAt = time.Time{}
		h := newHarness(t, m).inSharedRuntime().started()
		h.advance(25 * time.Second)
		h.expectCalls() // it may be being launched
		h.advance(20 * time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "in a shared runtime a worker may be pending for ten minutes, and the event says why", func(t *testing.T) {
		m := monitored("mon-a")
		m.ReportedAt = time.Time{}
		h := newHarness(t, m).inSharedRuntime()
		h.launcher.running["mon-a"], h.launcher.pendingReason = 1, "ErrImagePull: no such image"
		h.started()
		h.advance(595 * time.Second)
		h.expectActive("mon-a")
		h.advance(15 * time.Second)
		h.expectFailed("mon-a", event.ReasonWorkerLost, "the worker has not started for 10m0s: ErrImagePull: no such image")
	})

	scenario(t, "an expired lease counts when workers cannot be listed", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a"), monitored("mon-b")).inSharedRuntime()
		h.launcher.running["mon-a"], h.launcher.running["mon-b"] = 1, 1
		h.started()
		h.launcher.set(func(l *fakeLauncher) { l.listFails = true })
		h.reportFor(time.Minute, "mon-b")
		h.expectFailed("mon-a", event.ReasonWorkerLost, "the worker has not reported for 30s")
		if m := h.store.get("mon-b"); !m.Status.Active() {
			t.Errorf("one that is heard is %s", m.Status)
		}
	})
}
