package supervisor_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// Who looks after what, and what cannot be known from here (decisions O2, O3 and
// O5).
func TestPlaces(t *testing.T) {
	scenario(t, "a missing worker is replaced by the other policy", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
		defer h.close()
		h.sup.Reconcile(t.Context())
		h.after(0)
		h.expectCalls("launch mon-a 2")
		h.expectCounts("relaunched=1", "marked_as_error=0")
		h.expectActive("mon-a")
	})

	scenario(t, "a worker of an older generation is replaced", func(t *testing.T) {
		m := watched("mon-a")
		m.Generation = 4
		h := houseOf(t, newRoster(m), relaunching)
		h.launcher.running["mon-a"] = 3
		h.open()
		defer h.close()
		h.sup.Reconcile(t.Context())
		h.after(0)
		h.expectCalls("launch mon-a 5")
		if g := h.launcher.generation("mon-a"); g != 5 {
			t.Errorf("generation %d runs", g)
		}
	})

	scenario(t, "what another place looks after is left to it, until its lease has run out", func(t *testing.T) {
		m := watched("mon-a")
		m.RuntimeID = "there"
		h := houseOf(t, newRoster(m), relaunching).open()
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.lives(100*time.Second, "mon-a")
		h.expectCalls()
		h.after(28 * time.Second)
		h.expectCalls()
		h.after(10 * time.Second)
		h.expectCalls("launch mon-a 2")
		if p := h.roster.get("mon-a").RuntimeID; p != "here" {
			t.Errorf("it is at %q", p)
		}
	})

	scenario(t, "how long it was silent before this gateway came nobody can know", func(t *testing.T) {
		m := watched("mon-a")
		m.RuntimeID, m.UpdatedAt = "there", time.Now().Add(-time.Hour) // the database was away, or its clock was stepped
		h := houseOf(t, newRoster(m), relaunching).open()
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.after(28 * time.Second)
		h.expectCalls()
		h.after(10 * time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "a worker here whose successor works elsewhere is ended", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
		h.sup.Start(h.roster.get("mon-a"))
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.after(time.Second)
		if _, err := h.roster.AdvanceGeneration(t.Context(), "mon-a", 1, "there"); err != nil {
			t.Fatal(err)
		}
		h.lives(20*time.Second, "mon-a")
		h.expectCalls("launch mon-a 1", "stop mon-a")
		h.expectActive("mon-a")
	})

	scenario(t, "a generation that nobody launched is missing", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
		h.sup.Start(h.roster.get("mon-a"))
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.after(time.Second)
		if _, err := h.roster.AdvanceGeneration(t.Context(), "mon-a", 1, "here"); err != nil {
			t.Fatal(err)
		}
		h.after(10 * time.Second)
		h.expectCalls("launch mon-a 1", "launch mon-a 3")
	})

	scenario(t, "what is being promoted is not missed", func(t *testing.T) {
		h := houseOf(t, newRoster(reserved("mon-a", 0)), relaunching)
		h.roster.lost.promote = 4 // answers, so that 15 s pass
		h.promoting().looking()
		defer h.close()
		h.after(20 * time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "what was registered in this moment is not taken for a stray", func(t *testing.T) {
		h := newHouse(t).open()
		defer h.close()
		h.launcher.running["mon-a"] = 1
		h.roster.set(func(r *roster) { r.hides = "mon-a"; r.monitors["mon-a"] = watched("mon-a") })
		h.sup.Reconcile(t.Context())
		h.after(time.Second)
		h.expectCalls()
	})

	scenario(t, "a gateway that is not elected looks after its own only", func(t *testing.T) {
		own, others := watched("mon-own"), watched("mon-other")
		others.RuntimeID, others.UpdatedAt = "there", time.Now().Add(-time.Minute)
		h := houseOf(t, newRoster(own, others), relaunching)
		h.roster.led = true
		h.open()
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.after(time.Minute)
		h.expectCalls("launch mon-own 2")
	})

	scenario(t, "at a shared place a missing worker is found by the second look at the start", func(t *testing.T) {
		here := newLauncher()
		here.place.Shared = true
		h := houseWith(t, newRoster(watched("mon-a")), here).open()
		defer h.close()
		h.sup.Reconcile(t.Context())
		h.expectGivenUp("mon-a", event.ReasonMismatch, "Worker not found here during startup reconciliation")
		h.expectCounts("marked_as_error=1")
	})

	scenario(t, "at a shared place one that was never launched, whoever was to, is launched", func(t *testing.T) {
		here := newLauncher()
		here.place.Shared = true
		m := watched("mon-a")
		m.ReportedAt = time.Time{}
		h := houseWith(t, newRoster(m), here).open()
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.after(25 * time.Second)
		h.expectCalls() // it may be on its way
		h.after(20 * time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "at a shared place one that has not started may take ten minutes, and it is said what keeps it", func(t *testing.T) {
		here := newLauncher()
		here.place.Shared = true
		here.running["mon-a"], here.hindrance = 1, "ErrImagePull: no such image"
		m := watched("mon-a")
		m.ReportedAt = time.Time{}
		h := houseWith(t, newRoster(m), here).open()
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.after(595 * time.Second)
		h.expectActive("mon-a")
		h.after(15 * time.Second)
		h.expectGivenUp("mon-a", event.ReasonWorkerLost, "the worker has not started for 10m0s: ErrImagePull: no such image")
	})

	scenario(t, "one that is silent is found when nobody can see who runs", func(t *testing.T) {
		here := newLauncher()
		here.place.Shared = true
		here.running["mon-a"] = 1
		h := houseWith(t, newRoster(watched("mon-a"), watched("mon-b")), here).open()
		here.running["mon-b"] = 1
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		here.set(func(l *launcher) { l.blind = true })
		h.lives(time.Minute, "mon-b")
		h.expectGivenUp("mon-a", event.ReasonWorkerLost, "the worker has not reported for 30s")
		if m := h.roster.get("mon-b"); !m.Status.Active() {
			t.Errorf("one that is heard is %s", m.Status)
		}
	})

	scenario(t, "two gateways of one place that see the same launch one worker", func(t *testing.T) {
		all := newRoster(watched("mon-a"))
		shared := newLauncher()
		shared.place.Shared = true
		a, b := houseWith(t, all, shared, relaunching), houseWith(t, all, shared, relaunching)
		a.open()
		b.open()
		a.sup.Reconcile(t.Context())
		b.sup.Reconcile(t.Context())
		a.looking()
		b.looking()
		defer a.close()
		defer b.close()
		a.after(40 * time.Second)
		a.lives(2*time.Minute, "mon-a")
		if g, m := a.launcher.generation("mon-a"), all.get("mon-a"); g != 2 || m.Generation != 2 || !m.Status.Active() {
			t.Errorf("generation %d runs, of %+v", g, m)
		}
	})
}
