package supervisor_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// sharedLauncher reports every exit in a runtime that several gateways share.
type sharedLauncher struct {
	*fakeLauncher
	exits chan supervisor.Exit
}

func (l sharedLauncher) Exits() <-chan supervisor.Exit { return l.exits }

// newGateways makes n gateways that share one runtime.
func newGateways(t *testing.T, n int, all *fakeStore, change ...func(*supervisor.Config)) (launcher *fakeLauncher, gateways []*harness, stop func()) {
	t.Helper()
	launcher = newFakeLauncher()
	launcher.runtime.Shared = true
	var perGateway []chan supervisor.Exit
	for i := range n {
		h := newHarnessWith(t, all, launcher, change...)
		exits := make(chan supervisor.Exit, 100)
		cfg := supervisor.Config{Log: slog.New(slog.NewTextHandler(&h.log, nil)), NewEventID: func() string { return fmt.Sprintf("event-of-%d", i) }}
		for _, c := range change {
			c(&cfg)
		}
		sup, err := supervisor.New(all, sharedLauncher{launcher, exits}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		h.sup = sup
		gateways, perGateway = append(gateways, h.run()), append(perGateway, exits)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range launcher.exits {
			for _, exits := range perGateway {
				exits <- e
			}
		}
	}()
	return launcher, gateways, func() {
		for _, h := range gateways {
			h.stop()
		}
		close(launcher.exits)
		<-done
	}
}

// In a shared runtime every gateway is told of every exit.
func TestAnExitReportedToSeveralGatewaysIsHandledOnce(t *testing.T) {
	scenario(t, "a lost worker fails its monitor once", func(t *testing.T) {
		launcher, gateways, stop := newGateways(t, 3, newFakeStore(newMonitor("mon-a")))
		defer stop()
		h := gateways[0]
		h.sup.Start(h.store.get("mon-a"))
		h.reportFor(time.Minute, "mon-a") // the leader adopts it meanwhile
		launcher.exit("mon-a", "killed by SIGKILL")
		h.advance(time.Minute)
		h.expectFailed("mon-a", event.ReasonWorkerLost, "killed by SIGKILL")
	})

	scenario(t, "a lost worker is replaced once", func(t *testing.T) {
		launcher, gateways, stop := newGateways(t, 3, newFakeStore(newMonitor("mon-a")), relaunchPolicy)
		defer stop()
		h := gateways[0]
		h.sup.Start(h.store.get("mon-a"))
		h.reportFor(time.Minute, "mon-a")
		launcher.exit("mon-a", "killed by SIGKILL")
		h.advance(5 * time.Second)
		h.reportFor(time.Minute, "mon-a")
		h.expectActive("mon-a")
		if m := h.store.get("mon-a"); m.Generation != 2 || launcher.generation("mon-a") != 2 {
			t.Errorf("generation %d runs, of %+v", launcher.generation("mon-a"), m)
		}
		if calls := launcher.requests(); strings.Contains(strings.Join(calls, ","), "stop") {
			t.Errorf("the launcher was asked %q", calls)
		}
	})

	scenario(t, "a worker that one gateway stops is not missed by another", func(t *testing.T) {
		launcher, gateways, stop := newGateways(t, 3, newFakeStore(newMonitor("mon-a")))
		defer stop()
		h := gateways[0]
		h.sup.Start(h.store.get("mon-a"))
		h.reportFor(time.Minute, "mon-a")
		h.store.end("mon-a")
		gateways[1].sup.Stop("mon-a")
		h.advance(time.Minute)
		if n := len(h.store.storedEvents()); n != 0 || launcher.generation("mon-a") != 0 {
			t.Errorf("%d events, and generation %d runs", n, launcher.generation("mon-a"))
		}
	})

	scenario(t, "a worker that finished is not missed", func(t *testing.T) {
		launcher, gateways, stop := newGateways(t, 3, newFakeStore(newMonitor("mon-a")))
		defer stop()
		h := gateways[0]
		h.sup.Start(h.store.get("mon-a"))
		h.reportFor(time.Minute, "mon-a")
		h.store.report("mon-a", monitor.Completed)
		launcher.exit("mon-a", "exit status 0")
		h.advance(time.Minute)
		if s := h.store.get("mon-a").Status; s != monitor.Completed || len(h.store.storedEvents()) != 0 {
			t.Errorf("%s, %d events", s, len(h.store.storedEvents()))
		}
	})

	scenario(t, "a worker with a token of another INTERNAL_API_KEY is replaced once, also under the policy error", func(t *testing.T) {
		all, launcher := newFakeStore(monitored("mon-a")), newFakeLauncher()
		launcher.running["mon-a"], launcher.refused = 1, map[monitor.ID]int{"mon-a": 1}
		launcher.runtime.Shared = true
		h := newHarnessWith(t, all, launcher).run()
		defer func() { h.stop() }()
		h.sup.AwaitStart(t.Context())
		h.advance(5 * time.Second)
		h.reportFor(time.Minute, "mon-a")
		h.expectActive("mon-a")
		h.expectCalls("launch mon-a 2")
		h.expectCounts("relaunched=1", "marked_as_error=0")
	})

	scenario(t, "only the leader replaces a worker that it refuses", func(t *testing.T) {
		all, launcher := newFakeStore(monitored("mon-a")), newFakeLauncher()
		all.otherLeads = true
		launcher.running["mon-a"], launcher.refused = 1, map[monitor.ID]int{"mon-a": 1}
		launcher.runtime.Shared = true
		h := newHarnessWith(t, all, launcher).run()
		defer func() { h.stop() }()
		h.reportFor(time.Minute, "mon-a")
		h.expectCalls()
		h.expectActive("mon-a")
	})

	scenario(t, "the exit of an unknown worker does no harm", func(t *testing.T) {
		launcher, gateways, stop := newGateways(t, 2, newFakeStore(newMonitor("mon-a")))
		defer stop()
		h := gateways[0]
		h.sup.Start(h.store.get("mon-a"))
		h.advance(time.Second)
		launcher.exits <- supervisor.Exit{ID: "mon-b", Generation: 1, Detail: "killed by SIGKILL"}
		launcher.exits <- supervisor.Exit{ID: "mon-a", Generation: 7, Detail: "killed by SIGKILL"}
		h.reportFor(time.Minute, "mon-a")
		h.expectActive("mon-a")
	})

	for policy, change := range map[string]func(*supervisor.Config){"error": func(*supervisor.Config) {}, "relaunch": relaunchPolicy} {
		scenario(t, "a worker that runs and that the list lacks is not missing, under the policy "+policy, func(t *testing.T) {
			m := newMonitor("mon-a")
			m.RuntimeID = "here"
			launcher, gateways, stop := newGateways(t, 1, newFakeStore(m), change)
			defer stop()
			launcher.set(func(l *fakeLauncher) { l.listLacks, l.running["mon-a"] = true, 1 }) // of another gateway
			h := gateways[0]
			h.store.report("mon-a", monitor.Monitoring)
			h.reportFor(time.Minute, "mon-a")
			h.expectActive("mon-a")
			if g := launcher.generation("mon-a"); g != 1 {
				t.Errorf("generation %d runs", g)
			}
			launcher.set(func(l *fakeLauncher) { clear(l.running) })
			h.advance(15 * time.Second)
			if m := h.store.get("mon-a"); m.Status.Active() && m.Generation == 1 {
				t.Errorf("the worker is gone, and nothing happened: %+v", m)
			}
		})
	}

	scenario(t, "a worker lost while its gateway was replaced is found by another gateway", func(t *testing.T) {
		launcher, gateways, stop := newGateways(t, 2, newFakeStore(newMonitor("mon-a")), relaunchPolicy)
		defer stop()
		h := gateways[0]
		h.sup.Start(h.store.get("mon-a"))
		h.reportFor(time.Minute, "mon-a")
		h.stop()
		h.stop = func() {}
		launcher.exit("mon-a", "killed by SIGTERM")
		gateways[1].advance(15 * time.Second)
		gateways[1].reportFor(time.Minute, "mon-a")
		gateways[1].expectActive("mon-a")
		if g := launcher.generation("mon-a"); g != 2 {
			t.Errorf("generation %d runs", g)
		}
	})
}
