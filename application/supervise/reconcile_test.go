package supervise_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervise"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// watched is a monitor whose worker was launched here and has reported.
func watched(id monitor.ID) monitor.Monitor {
	m := registered(id)
	m.Status, m.Place, m.UpdatedAt, m.Snapshot = monitor.Monitoring, "here", time.Now(), []byte(`{}`)
	m.ReportedAt = m.UpdatedAt
	return m
}

// expectCounts reads the report in the log.
func (h *house) expectCounts(want ...string) {
	h.t.Helper()
	for line := range strings.Lines(h.log.String()) {
		if !strings.Contains(line, "Startup Reconciliation Report") {
			continue
		}
		for _, w := range want {
			if !strings.Contains(line, " "+w) {
				h.t.Errorf("the report does not say %s: %s", w, line)
			}
		}
		return
	}
	h.t.Errorf("no report:\n%s", h.log.String())
}

// Section 10.4.
func TestReconcile(t *testing.T) {
	scenario(t, "a worker that outlived its gateway is adopted, and its end noticed", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching)
		h.launcher.running["mon-a"] = 1
		h.open()
		defer h.close()
		h.sup.Reconcile(t.Context())
		h.after(time.Second)
		h.expectCalls("launch mon-a 1") // which does nothing
		h.expectCounts("active=1", "adopted=1", "relaunched=0", "timed_out=false")
		h.expectActive("mon-a")
		h.launcher.dies("mon-a", "exit status 2")
		h.after(2 * time.Second)
		h.expectCalls("launch mon-a 1", "launch mon-a 2")
	})

	scenario(t, "a missing worker is an error by the policy of the specification", func(t *testing.T) {
		h := newHouse(t, watched("mon-a")).open()
		defer h.close()
		h.sup.Reconcile(t.Context())
		h.expectGivenUp("mon-a", event.ReasonMismatch, "Worker not found here during startup reconciliation")
		h.expectCounts("marked_as_error=1", "relaunched=0")
		h.expectCalls()
		trouble, _ := h.roster.told()[0].Data.(event.Trouble)
		if trouble.ReconciliationAction != "mark_as_error_missing_pod" || trouble.PreviousStatus != "monitoring" ||
			trouble.ObservedState == nil || *trouble.ObservedState != (event.ObservedState{PodExists: false, DBStatus: "monitoring"}) {
			t.Errorf("told %+v", trouble)
		}
	})

	scenario(t, "a missing worker is replaced by the other policy", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
		defer h.close()
		h.sup.Reconcile(t.Context())
		h.after(0)
		h.expectCalls("launch mon-a 2")
		h.expectCounts("relaunched=1", "marked_as_error=0")
		h.expectActive("mon-a")
	})

	scenario(t, "a monitor that never had a worker gets one whatever the policy", func(t *testing.T) {
		m := watched("mon-a")
		m.ReportedAt = time.Time{}
		h := newHouse(t, m).open()
		defer h.close()
		h.sup.Reconcile(t.Context())
		h.after(0)
		h.expectCalls("launch mon-a 2")
		h.expectCounts("launched=1")
		h.expectActive("mon-a")
	})

	scenario(t, "workers of monitors that have ended, are reserved or unknown are ended", func(t *testing.T) {
		ended, waiting := watched("mon-ended"), watched("mon-reserved")
		ended.Status = monitor.Stopped
		waiting.ReservedUntil = time.Now().Add(time.Hour)
		h := newHouse(t, ended, waiting).open()
		defer h.close()
		h.launcher.set(func(l *launcher) { l.running = map[monitor.ID]int{"mon-ended": 1, "mon-reserved": 1, "mon-unknown": 7} })
		h.sup.Reconcile(t.Context())
		h.after(0)
		got := h.launcher.seen()
		slices.Sort(got)
		if want := []string{"stop mon-ended", "stop mon-reserved", "stop mon-unknown"}; !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
		h.expectCounts("zombies_deleted=2", "orphans_deleted=1")
	})

	scenario(t, "one that this gateway looks after may take its time to end by itself, and not for ever", func(t *testing.T) {
		h := newHouse(t, watched("mon-a")).open()
		h.sup.Start(h.roster.get("mon-a"))
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.lives(20*time.Second, "mon-a")
		h.roster.ends("mon-a") // at another gateway, and it does not hear of it
		h.after(40 * time.Second)
		h.expectCalls("launch mon-a 1")
		h.after(10 * time.Second)
		h.expectCalls("launch mon-a 1", "stop mon-a")
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
		m.Place = "there"
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
		if p := h.roster.get("mon-a").Place; p != "here" {
			t.Errorf("it is at %q", p)
		}
	})

	scenario(t, "how long it was silent before this gateway came nobody can know", func(t *testing.T) {
		m := watched("mon-a")
		m.Place, m.UpdatedAt = "there", time.Now().Add(-time.Hour) // the database was away, or its clock was stepped
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
		if _, err := h.roster.Advance(t.Context(), "mon-a", 1, "there"); err != nil {
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
		if _, err := h.roster.Advance(t.Context(), "mon-a", 1, "here"); err != nil {
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
		others.Place, others.UpdatedAt = "there", time.Now().Add(-time.Minute)
		h := houseOf(t, newRoster(own, others), relaunching)
		h.roster.led = true
		h.open()
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.after(time.Minute)
		h.expectCalls("launch mon-own 2")
	})

	scenario(t, "it may be repeated", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a"), watched("mon-b")), relaunching)
		h.launcher.running["mon-b"] = 1
		h.open()
		defer h.close()
		for range 3 {
			h.sup.Reconcile(t.Context())
			h.after(time.Second)
		}
		got := h.launcher.seen()
		slices.Sort(got)
		if want := []string{"launch mon-a 2", "launch mon-b 1"}; !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
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

	scenario(t, "at a shared place one that has not reported yet may be on its way", func(t *testing.T) {
		here := newLauncher()
		here.place.Shared = true
		m := watched("mon-a")
		m.ReportedAt = time.Time{}
		h := houseWith(t, newRoster(m), here, relaunching).open()
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.after(110 * time.Second)
		h.expectCalls()
		h.after(20 * time.Second)
		h.expectCalls("launch mon-a 2")
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

func TestReconcileInTrouble(t *testing.T) {
	apology := func(t *testing.T, h *house, id monitor.ID) {
		t.Helper()
		told := h.roster.told()
		if len(told) != 1 {
			t.Fatalf("%d events, want 1: %+v", len(told), told)
		}
		trouble, _ := told[0].Data.(event.Trouble)
		if told[0].Valid() != nil || trouble.Reason != event.ReasonReconcileTimeout || trouble.Terminal {
			t.Errorf("told %+v", told[0])
		}
		if s := h.roster.get(id).Status; !s.Active() {
			t.Errorf("%s is %s", id, s)
		}
	}

	scenario(t, "a database that is away at first delays it", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
		defer h.close()
		h.roster.down = true
		time.AfterFunc(5*time.Second, func() { h.roster.set(func(r *roster) { r.down = false }) })
		h.sup.Reconcile(t.Context())
		h.after(time.Second)
		h.expectCalls("launch mon-a 2")
		h.expectCounts("timed_out=false")
	})

	scenario(t, "a database that stays away ends it in time; it is told and made good later", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
		h.roster.down = true
		began := time.Now()
		h.sup.Reconcile(t.Context())
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("took %v, want 30 s", took)
		}
		h.expectCounts("timed_out=true")
		h.looking()
		defer h.close()
		h.after(time.Minute)
		h.roster.set(func(r *roster) { r.down = false })
		h.after(10 * time.Second)
		h.expectCalls("launch mon-a 2")
		apology(t, h, "mon-a")
	})

	scenario(t, "a launcher that cannot tell who runs ends it in time; the monitors are told at once", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
		h.launcher.set(func(l *launcher) { l.blind = true; l.running["mon-a"] = 1 })
		h.sup.Reconcile(t.Context())
		h.looking()
		defer h.close()
		h.after(10 * time.Second)
		apology(t, h, "mon-a")
		h.after(time.Hour)
		h.expectCalls()
		h.launcher.set(func(l *launcher) { l.blind = false })
		h.after(10 * time.Second)
		h.expectCalls("launch mon-a 1")
		apology(t, h, "mon-a")
	})

	scenario(t, "a monitor that cannot be dealt with is skipped, named, and found again", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a"), watched("mon-b")), relaunching).open()
		h.roster.stuck = "mon-a"
		h.sup.Reconcile(t.Context())
		h.after(time.Second)
		h.expectCalls("launch mon-b 2")
		h.expectCounts("relaunched=1", "skipped=1")
		if !strings.Contains(h.log.String(), "level=ERROR") || !strings.Contains(h.log.String(), "mon-a") {
			t.Errorf("mon-a is not named:\n%s", h.log.String())
		}
		h.roster.reports("mon-b", monitor.Monitoring)
		h.roster.set(func(r *roster) { r.stuck = "" })
		h.looking()
		defer h.close()
		h.after(15 * time.Second)
		h.expectCalls("launch mon-b 2", "launch mon-a 2")
	})

	scenario(t, "an answer that does not come delays it", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
		defer h.close()
		h.roster.hangs = "active"
		time.AfterFunc(5*time.Second, func() { h.roster.set(func(r *roster) { r.hangs = "" }) })
		h.sup.Reconcile(t.Context())
		h.after(time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "only those are told that it did not come to, and each once", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a"), watched("mon-b")), relaunching,
			func(c *supervise.Config) { c.ReconcileTimeout = 3 * time.Second }).open()
		h.roster.stuck = "mon-a" // and is given up after 7 s
		h.sup.Reconcile(t.Context())
		h.expectCounts("timed_out=true", "unsettled=1", "unsettled_monitors=[mon-a]")
		h.roster.set(func(r *roster) { r.lost.tell = 3 })
		h.looking()
		defer h.close()
		h.lives(time.Minute, "mon-b")
		apology(t, h, "mon-a")
	})

	scenario(t, "nor are those told that are others' concern, or that came later", func(t *testing.T) {
		others := watched("mon-other")
		others.Place = "there"
		h := houseOf(t, newRoster(watched("mon-a"), others), relaunching).open()
		h.roster.set(func(r *roster) { r.down, r.led = true, true })
		h.sup.Reconcile(t.Context())
		h.roster.set(func(r *roster) { r.down = false })
		h.looking()
		defer h.close()
		h.lives(20*time.Second, "mon-a", "mon-other")
		h.roster.set(func(r *roster) { r.monitors["mon-later"] = watched("mon-later") })
		h.lives(20*time.Second, "mon-a", "mon-other")
		apology(t, h, "mon-a")
	})

	scenario(t, "an apology that cannot be stored keeps nothing else waiting", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a"), watched("mon-b")), relaunching).open()
		h.roster.down = true
		h.sup.Reconcile(t.Context())
		h.roster.set(func(r *roster) { r.down = false; r.hangs = "tell mon-a" })
		h.looking()
		defer h.close()
		h.after(30 * time.Second)
		for _, id := range []monitor.ID{"mon-a", "mon-b"} {
			if g := h.launcher.generation(id); g != 2 {
				t.Errorf("generation %d of %s runs", g, id)
			}
		}
	})

	scenario(t, "a shutdown ends it", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), func(c *supervise.Config) { c.ReconcileTimeout = time.Hour }).open()
		defer h.close()
		h.roster.down = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h.sup.Reconcile(ctx)
		h.expectCounts("timed_out=false")
	})
}
