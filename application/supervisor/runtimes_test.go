package supervisor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
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

	scenario(t, "a generation that was never launched is missing", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).relaunching().started("mon-a")
		h.advance(time.Second)
		if _, err := h.store.AdvanceGeneration(t.Context(), "mon-a", 1, "here"); err != nil {
			t.Fatal(err)
		}
		h.advance(10 * time.Second)
		h.expectCalls("launch mon-a 1", "launch mon-a 3")
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

// watchedByThree runs three gateways in a shared runtime. The worker of mon-a reports for a minute, in which
// the leader adopts it.
func watchedByThree(t *testing.T, policy supervisor.MissingWorkerPolicy) (h *harness, others [2]*harness) {
	t.Helper()
	h = newHarness(t, newMonitor("mon-a")).inSharedRuntime()
	h.cfg.MissingWorker = policy
	for i := range others {
		others[i] = h.beside().run()
	}
	h.run("mon-a")
	h.reportFor(time.Minute, "mon-a")
	return h, others
}

// In a shared runtime every gateway is told of every exit.
func TestAnExitReportedToSeveralGatewaysIsHandledOnce(t *testing.T) {
	scenario(t, "a lost worker fails its monitor once", func(t *testing.T) {
		h, _ := watchedByThree(t, supervisor.EndMonitor)
		h.launcher.exit("mon-a", "killed by SIGKILL")
		h.advance(time.Minute)
		h.expectFailed("mon-a", event.ReasonWorkerLost, "killed by SIGKILL")
	})

	scenario(t, "a lost worker is replaced once", func(t *testing.T) {
		h, _ := watchedByThree(t, supervisor.Relaunch)
		h.launcher.exit("mon-a", "killed by SIGKILL")
		h.advance(5 * time.Second)
		h.reportFor(time.Minute, "mon-a")
		h.expectActive("mon-a")
		h.expectRunning("mon-a", 2)
		if m := h.store.get("mon-a"); m.Generation != 2 {
			t.Errorf("stored is %+v", m)
		}
		if calls := h.launcher.requests(); strings.Contains(strings.Join(calls, ","), "stop") {
			t.Errorf("the launcher was asked %q", calls)
		}
	})

	scenario(t, "a worker that one gateway stops is not missed by another", func(t *testing.T) {
		h, others := watchedByThree(t, supervisor.EndMonitor)
		h.store.end("mon-a")
		others[0].sup.Stop("mon-a")
		h.advance(time.Minute)
		h.expectRunning("mon-a", 0)
		if n := len(h.store.storedEvents()); n != 0 {
			t.Errorf("%d events", n)
		}
	})

	scenario(t, "a worker that ends after its final report is not missed", func(t *testing.T) {
		h, _ := watchedByThree(t, supervisor.EndMonitor)
		h.store.report("mon-a", monitor.Completed)
		h.launcher.exit("mon-a", "exit status 0")
		h.advance(time.Minute)
		if s := h.store.get("mon-a").Status; s != monitor.Completed || len(h.store.storedEvents()) != 0 {
			t.Errorf("%s, %d events", s, len(h.store.storedEvents()))
		}
	})

	scenario(t, "the exit of an unknown worker does no harm", func(t *testing.T) {
		h, _ := watchedByThree(t, supervisor.EndMonitor)
		h.launcher.report(supervisor.Exit{ID: "mon-b", Generation: 1, Detail: "killed by SIGKILL"})
		h.launcher.report(supervisor.Exit{ID: "mon-a", Generation: 7, Detail: "killed by SIGKILL"})
		h.reportFor(time.Minute, "mon-a")
		h.expectActive("mon-a")
	})

	scenario(t, "a worker lost while its gateway was replaced is found by another gateway", func(t *testing.T) {
		h, others := watchedByThree(t, supervisor.Relaunch)
		h.stop()
		h.launcher.exit("mon-a", "killed by SIGTERM")
		others[0].advance(15 * time.Second)
		others[0].reportFor(time.Minute, "mon-a")
		others[0].expectActive("mon-a")
		h.expectRunning("mon-a", 2)
	})
}

func TestAWorkerWithATokenOfAnotherKeyIsReplacedOnceByTheLeader(t *testing.T) { // decision O9
	for leader, want := range map[string][]string{"": {"launch mon-a 2"}, "another": nil} {
		scenario(t, "which is here or: "+leader, func(t *testing.T) { // also under the policy error
			h := newHarness(t, monitored("mon-a")).inSharedRuntime()
			h.launcher.running["mon-a"], h.launcher.refused = 1, map[monitor.ID]int{"mon-a": 1}
			h.store.leader = leader
			h.started()
			h.advance(5 * time.Second)
			h.reportFor(time.Minute, "mon-a")
			h.expectActive("mon-a")
			h.expectCalls(want...)
		})
	}
}

func TestAWorkerThatRunsAndThatTheListLacksIsNotMissing(t *testing.T) {
	for name, policy := range map[string]supervisor.MissingWorkerPolicy{"error": supervisor.EndMonitor, "relaunch": supervisor.Relaunch} {
		scenario(t, "under the policy "+name, func(t *testing.T) {
			h := newHarness(t, monitored("mon-a")).inSharedRuntime()
			h.cfg.MissingWorker = policy
			h.launcher.listLacks, h.launcher.running["mon-a"] = true, 1 // of another gateway
			h.run()
			h.reportFor(time.Minute, "mon-a")
			h.expectActive("mon-a")
			h.expectRunning("mon-a", 1)
			h.launcher.set(func(l *fakeLauncher) { clear(l.running) })
			h.advance(15 * time.Second)
			if m := h.store.get("mon-a"); m.Status.Active() && m.Generation == 1 {
				t.Errorf("the worker is gone, and nothing happened: %+v", m)
			}
		})
	}
}
