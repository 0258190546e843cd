package supervisor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Section 10.4.
func TestReconcileBringsMonitorsAndWorkersTogether(t *testing.T) {
	scenario(t, "a worker that outlived its gateway is adopted, and its exit is noticed", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).relaunching()
		h.launcher.running["mon-a"] = 1
		h.started()
		h.advance(time.Second)
		h.expectCalls("launch mon-a 1") // which does nothing
		h.expectCounts("active=1", "adopted=1", "relaunched=0", "timed_out=false")
		h.expectActive("mon-a")
		h.launcher.exit("mon-a", "exit status 2")
		h.advance(2 * time.Second)
		h.expectCalls("launch mon-a 1", "launch mon-a 2")
	})

	scenario(t, "a missing worker of a shared runtime fails its monitor under the policy error", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).inSharedRuntime().started()
		h.expectFailed("mon-a", event.ReasonMismatch, "Worker not found here during startup reconciliation")
		h.expectCounts("marked_as_error=1", "relaunched=0")
		h.expectCalls()
		trouble, _ := h.store.storedEvents()[0].Data.(event.MonitorFailure)
		if trouble.ReconciliationAction != "mark_as_error_missing_pod" || trouble.PreviousStatus != "monitoring" ||
			trouble.ObservedState == nil || *trouble.ObservedState != (event.ObservedState{PodExists: false, DBStatus: "monitoring"}) {
			t.Errorf("told %+v", trouble)
		}
	})

	scenario(t, "a worker that ended with its gateway is replaced under the policy error, too", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).started()
		h.expectCalls("launch mon-a 2")
		h.expectCounts("relaunched=1", "marked_as_error=0")
		h.expectActive("mon-a")
	})

	scenario(t, "a monitor that never had a worker gets one under either policy", func(t *testing.T) {
		m := monitored("mon-a")
		m.ReportedAt = time.Time{}
		h := newHarness(t, m).started()
		h.expectCalls("launch mon-a 2")
		h.expectCounts("launched=1")
		h.expectActive("mon-a")
	})

	scenario(t, "workers of ended, reserved and unknown monitors are ended", func(t *testing.T) {
		ended, waiting := monitored("mon-ended"), monitored("mon-reserved")
		ended.Status = monitor.Stopped
		waiting.ReservedUntil = time.Now().Add(time.Hour)
		h := newHarness(t, ended, waiting)
		h.launcher.running = map[monitor.ID]int{"mon-ended": 1, "mon-reserved": 1, "mon-unknown": 7}
		h.started()
		got := h.launcher.requests()
		slices.Sort(got)
		if want := []string{"stop mon-ended", "stop mon-reserved", "stop mon-unknown"}; !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
		h.expectCounts("zombies_deleted=2", "orphans_deleted=1")
	})

	scenario(t, "an orphaned worker of this gateway gets 40 s to end by itself", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).started("mon-a")
		h.reportFor(20*time.Second, "mon-a")
		h.store.end("mon-a") // by another gateway
		h.advance(40 * time.Second)
		h.expectCalls("launch mon-a 1")
		h.advance(10 * time.Second)
		h.expectCalls("launch mon-a 1", "stop mon-a")
	})
}

func TestReconcileSurvivesOutages(t *testing.T) {
	expectTimeoutNotice := func(t *testing.T, h *harness, id monitor.ID) {
		t.Helper()
		events := h.store.storedEvents()
		if len(events) != 1 {
			t.Fatalf("%d events, want 1: %+v", len(events), events)
		}
		trouble, _ := events[0].Data.(event.MonitorFailure)
		if events[0].Valid() != nil || trouble.Reason != event.ReasonReconcileTimeout || trouble.Terminal {
			t.Errorf("events %+v", events[0])
		}
		if s := h.store.get(id).Status; !s.Active() {
			t.Errorf("%s is %s", id, s)
		}
	}

	for name, trouble := range map[string]func(*database){
		"a database outage":           func(d *database) { d.down = true },
		"a database query that hangs": func(d *database) { d.hanging = "active" },
	} {
		scenario(t, name+" at the start delays the reconciliation", func(t *testing.T) {
			h := newHarness(t, monitored("mon-a")).relaunching()
			h.store.set(trouble)
			h.run()
			time.AfterFunc(5*time.Second, func() { h.store.set(func(d *database) { d.down, d.hanging = false, "" }) })
			h.sup.AwaitStart(t.Context())
			h.advance(time.Second)
			h.expectCalls("launch mon-a 2")
			h.expectCounts("timed_out=false")
		})
	}

	scenario(t, "a reconciliation without a database times out, sends a notice and is completed later", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).relaunching()
		h.store.down = true
		h.run()
		began := time.Now()
		h.sup.AwaitStart(t.Context())
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("took %v, want 30 s", took)
		}
		h.expectCounts("timed_out=true")
		h.advance(time.Minute)
		h.store.set(func(r *database) { r.down = false })
		h.advance(10 * time.Second)
		h.expectCalls("launch mon-a 2")
		expectTimeoutNotice(t, h, "mon-a")
	})

	scenario(t, "a reconciliation without a list of workers times out and sends notices at once", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).relaunching()
		h.launcher.set(func(l *fakeLauncher) { l.listFails = true; l.running["mon-a"] = 1 })
		h.run()
		h.reportFor(30*time.Second, "mon-a")
		h.sup.AwaitStart(t.Context())
		h.reportFor(10*time.Second, "mon-a")
		expectTimeoutNotice(t, h, "mon-a")
		h.reportFor(time.Hour, "mon-a")
		h.expectCalls()
		h.launcher.set(func(l *fakeLauncher) { l.listFails = false })
		h.advance(10 * time.Second)
		h.expectCalls("launch mon-a 1")
		expectTimeoutNotice(t, h, "mon-a")
	})

	scenario(t, "a monitor whose loss cannot be handled is skipped, logged, and handled later", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a"), monitored("mon-b")).relaunching()
		h.store.failingID = "mon-a"
		h.started()
		h.advance(time.Second)
		h.expectCalls("launch mon-b 2")
		h.expectCounts("relaunched=1", "skipped=1")
		if !strings.Contains(h.log.String(), "level=ERROR") || !strings.Contains(h.log.String(), "mon-a") {
			t.Errorf("mon-a is not named:\n%s", h.log.String())
		}
		h.store.report("mon-b", monitor.Monitoring)
		h.store.set(func(r *database) { r.failingID = "" })
		h.advance(15 * time.Second)
		h.expectCalls("launch mon-b 2", "launch mon-a 2")
	})

	scenario(t, "only monitors that are not decided about get a timeout notice, each once", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a"), monitored("mon-b")).relaunching()
		h.cfg.ReconcileTimeout = 3 * time.Second
		h.store.failingID = "mon-a" // and is skipped after 7 s
		h.started()
		h.expectCounts("timed_out=true", "unsettled=1", "unsettled_monitors=[mon-a]")
		h.store.set(func(r *database) { r.lostAnswers.event = 3 })
		h.reportFor(time.Minute, "mon-b")
		expectTimeoutNotice(t, h, "mon-a")
	})

	scenario(t, "monitors of other gateways and later registrations get no timeout notice", func(t *testing.T) {
		others := monitored("mon-other")
		others.RuntimeID = "there"
		h := newHarness(t, monitored("mon-a"), others).relaunching()
		h.store.set(func(r *database) { r.down, r.leader = true, "another" })
		h.started()
		h.store.set(func(r *database) { r.down = false })
		h.reportFor(20*time.Second, "mon-a", "mon-other")
		h.store.add(monitored("mon-later"))
		h.reportFor(20*time.Second, "mon-a", "mon-other")
		expectTimeoutNotice(t, h, "mon-a")
	})

	for _, blind := range []bool{false, true} {
		scenario(t, fmt.Sprintf("a monitor registered meanwhile gets no timeout notice (the launcher cannot list: %v)", blind), func(t *testing.T) {
			h := newHarness(t, monitored("mon-a")).relaunching()
			h.launcher.set(func(l *fakeLauncher) { l.listFails = blind })
			h.store.down = !blind
			h.run()
			h.sup.AwaitStart(t.Context())
			h.advance(500 * time.Millisecond)
			fresh := newMonitor("mon-fresh")
			fresh.RuntimeID, fresh.CreatedAt, fresh.UpdatedAt = "here", time.Now(), time.Now()
			h.store.set(func(r *database) { r.down = false; r.monitors["mon-fresh"] = fresh })
			h.sup.Start(fresh)
			h.advance(20 * time.Second)
			expectTimeoutNotice(t, h, "mon-a")
			if whom := h.store.notified; !slices.Equal(whom, []monitor.ID{"mon-a"}) {
				t.Errorf("events %q", whom)
			}
		})
	}

	scenario(t, "a monitor whose worker is replaced during its notice gets the notice later", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).relaunching()
		h.store.down = true
		h.started()
		h.store.set(func(r *database) { r.down, r.advancesBeforeEvent = false, 1 })
		h.advance(20 * time.Second)
		expectTimeoutNotice(t, h, "mon-a")
	})

	scenario(t, "a timeout notice that cannot be stored delays nothing else", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a"), monitored("mon-b")).relaunching()
		h.store.down = true
		h.started()
		h.store.set(func(r *database) { r.down = false; r.hanging = "event mon-a" })
		h.advance(30 * time.Second)
		for _, id := range []monitor.ID{"mon-a", "mon-b"} {
			if g := h.launcher.generation(id); g != 2 {
				t.Errorf("generation %d of %s runs", g, id)
			}
		}
	})

	scenario(t, "a shutdown ends the reconciliation", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a"))
		h.cfg.ReconcileTimeout = time.Hour
		h.store.down = true
		h.run()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, known := h.sup.AwaitStart(ctx); known {
			t.Error("the monitors are known")
		}
		h.stop()
		h.expectCounts("timed_out=false")
	})
}
