package supervisor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

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
		h.lives(time.Hour, "mon-a")
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
			func(c *supervisor.Config) { c.ReconcileTimeout = 3 * time.Second }).open()
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
		others.RuntimeID = "there"
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

	for _, blind := range []bool{false, true} {
		scenario(t, fmt.Sprintf("nor is one that was registered meanwhile (the launcher cannot see: %v)", blind), func(t *testing.T) {
			h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
			h.launcher.set(func(l *launcher) { l.blind = blind })
			h.roster.down = !blind
			h.sup.Reconcile(t.Context())
			h.looking()
			defer h.close()
			h.after(500 * time.Millisecond)
			fresh := registered("mon-fresh")
			fresh.RuntimeID, fresh.CreatedAt, fresh.UpdatedAt = "here", time.Now(), time.Now()
			h.roster.set(func(r *roster) { r.down = false; r.monitors["mon-fresh"] = fresh })
			h.sup.Start(fresh)
			h.after(20 * time.Second)
			apology(t, h, "mon-a")
			if whom := h.roster.whom; !slices.Equal(whom, []monitor.ID{"mon-a"}) {
				t.Errorf("told %q", whom)
			}
		})
	}

	scenario(t, "one whose worker is replaced in the moment that it is told is told all the same", func(t *testing.T) {
		h := houseOf(t, newRoster(watched("mon-a")), relaunching).open()
		h.roster.down = true
		h.sup.Reconcile(t.Context())
		h.roster.set(func(r *roster) { r.down, r.overtook = false, 1 })
		h.looking()
		defer h.close()
		h.after(20 * time.Second)
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
		h := houseOf(t, newRoster(watched("mon-a")), func(c *supervisor.Config) { c.ReconcileTimeout = time.Hour }).open()
		defer h.close()
		h.roster.down = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h.sup.Reconcile(ctx)
		h.expectCounts("timed_out=false")
	})
}
