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

// sharedLauncher is a launcher of a place where others launch, too, and that is told of
// every end there.
type sharedLauncher struct {
	*fakeLauncher
	ends chan supervisor.Exit
}

func (w sharedLauncher) Exits() <-chan supervisor.Exit { return w.ends }

// crowd is so many gateways that launch at one place.
func newGateways(t *testing.T, n int, all *fakeStore, change ...func(*supervisor.Config)) (place *fakeLauncher, houses []*harness, over func()) {
	t.Helper()
	place = newFakeLauncher()
	place.runtime.Shared = true
	var told []chan supervisor.Exit
	for i := range n {
		h := newHarnessWith(t, all, place, change...)
		ends := make(chan supervisor.Exit, 100)
		cfg := supervisor.Config{Log: slog.New(slog.NewTextHandler(&h.log, nil)), NewEventID: func() string { return fmt.Sprintf("event-of-%d", i) }}
		for _, c := range change {
			c(&cfg)
		}
		sup, err := supervisor.New(all, sharedLauncher{place, ends}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		h.sup = sup
		houses, told = append(houses, h.run().watch()), append(told, ends)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range place.exits {
			for _, ends := range told {
				ends <- e
			}
		}
	}()
	return place, houses, func() {
		for _, h := range houses {
			h.stop()
		}
		close(place.exits)
		<-done
	}
}

// At a shared place every gateway is told of every end.
func TestEndsThatEverybodySees(t *testing.T) {
	scenario(t, "a lost worker ends its monitor once, whoever looks after it", func(t *testing.T) {
		place, houses, over := newGateways(t, 3, newFakeStore(newMonitor("mon-a")))
		defer over()
		h := houses[0]
		h.sup.Start(h.store.get("mon-a"))
		h.reportFor(time.Minute, "mon-a") // the elected adopt it meanwhile
		place.exit("mon-a", "its pod was deleted")
		h.advance(time.Minute)
		h.expectFailed("mon-a", event.ReasonWorkerLost, "its pod was deleted")
	})

	scenario(t, "or is replaced once", func(t *testing.T) {
		place, houses, over := newGateways(t, 3, newFakeStore(newMonitor("mon-a")), relaunchPolicy)
		defer over()
		h := houses[0]
		h.sup.Start(h.store.get("mon-a"))
		h.reportFor(time.Minute, "mon-a")
		place.exit("mon-a", "its pod was deleted")
		h.advance(5 * time.Second)
		h.reportFor(time.Minute, "mon-a")
		h.expectActive("mon-a")
		if m := h.store.get("mon-a"); m.Generation != 2 || place.generation("mon-a") != 2 {
			t.Errorf("generation %d runs, of %+v", place.generation("mon-a"), m)
		}
		if calls := place.requests(); strings.Contains(strings.Join(calls, ","), "stop") {
			t.Errorf("the launcher was asked %q", calls)
		}
	})

	scenario(t, "a worker that one gateway stops is missed by no other", func(t *testing.T) {
		place, houses, over := newGateways(t, 3, newFakeStore(newMonitor("mon-a")))
		defer over()
		h := houses[0]
		h.sup.Start(h.store.get("mon-a"))
		h.reportFor(time.Minute, "mon-a")
		h.store.end("mon-a")
		houses[1].sup.Stop("mon-a")
		h.advance(time.Minute)
		if n := len(h.store.storedEvents()); n != 0 || place.generation("mon-a") != 0 {
			t.Errorf("%d events, and generation %d runs", n, place.generation("mon-a"))
		}
	})

	scenario(t, "a worker that finished is missed by nobody", func(t *testing.T) {
		place, houses, over := newGateways(t, 3, newFakeStore(newMonitor("mon-a")))
		defer over()
		h := houses[0]
		h.sup.Start(h.store.get("mon-a"))
		h.reportFor(time.Minute, "mon-a")
		h.store.report("mon-a", monitor.Completed)
		place.exit("mon-a", "exit status 0")
		h.advance(time.Minute)
		if s := h.store.get("mon-a").Status; s != monitor.Completed || len(h.store.storedEvents()) != 0 {
			t.Errorf("%s, %d events", s, len(h.store.storedEvents()))
		}
	})

	scenario(t, "an end of one that nobody looks after does no harm", func(t *testing.T) {
		place, houses, over := newGateways(t, 2, newFakeStore(newMonitor("mon-a")))
		defer over()
		h := houses[0]
		h.sup.Start(h.store.get("mon-a"))
		h.advance(time.Second)
		place.exits <- supervisor.Exit{ID: "mon-b", Generation: 1, Detail: "its pod was deleted"}
		place.exits <- supervisor.Exit{ID: "mon-a", Generation: 7, Detail: "its pod was deleted"}
		h.reportFor(time.Minute, "mon-a")
		h.expectActive("mon-a")
	})

	scenario(t, "what was lost while its gateway was being replaced is found by another", func(t *testing.T) {
		place, houses, over := newGateways(t, 2, newFakeStore(newMonitor("mon-a")), relaunchPolicy)
		defer over()
		h := houses[0]
		h.sup.Start(h.store.get("mon-a"))
		h.reportFor(time.Minute, "mon-a")
		h.stop()
		h.stop = func() {}
		place.exit("mon-a", "its pod was evicted")
		houses[1].advance(15 * time.Second)
		houses[1].reportFor(time.Minute, "mon-a")
		houses[1].expectActive("mon-a")
		if g := place.generation("mon-a"); g != 2 {
			t.Errorf("generation %d runs", g)
		}
	})
}
