package supervisor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

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
