package supervisor_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

func scenario(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func newMonitor(id monitor.ID) monitor.Monitor {
	return monitor.Monitor{ID: id, Generation: 1, Status: monitor.Initializing, Config: monitor.DefaultConfig(),
		StreamURL: "https://www.youtube.com/watch?v=XXXXXXXXXXX", CallbackURL: "https://receiver.example/hook"}
}

// monitored is a monitor whose worker was launched here and has reported.
func monitored(id monitor.ID) monitor.Monitor {
	m := newMonitor(id)
	m.Status, m.RuntimeID, m.UpdatedAt, m.Snapshot = monitor.Monitoring, "here", time.Now(), []byte(`{}`)
	m.ReportedAt = m.UpdatedAt
	return m
}

// newReservation is a monitor that gets its worker so much later.
func newReservation(id monitor.ID, in time.Duration) monitor.Monitor {
	m := newMonitor(id)
	m.Status, m.StreamStatus, m.ReservedUntil = monitor.Waiting, monitor.StreamUpcoming, time.Now().Add(in)
	return m
}

// harness is a gateway's supervisor with fakes around it.
type harness struct {
	t        *testing.T
	store    *fakeStore    // others may share its database
	launcher *fakeLauncher // others may share it
	exits    chan supervisor.Exit
	cfg      supervisor.Config
	sup      *supervisor.Supervisor // from run on
	log      logbuffer.Buffer
	stop     func() // ends Run and waits for it, as the end of the test does
}

func newHarness(t *testing.T, ms ...monitor.Monitor) *harness {
	t.Helper()
	return newHarnessOn(t, newFakeStore(ms...), newFakeLauncher())
}

func newHarnessOn(t *testing.T, store *fakeStore, launcher *fakeLauncher) *harness {
	t.Helper()
	h := &harness{t: t, store: store, launcher: launcher}
	var ids atomic.Int64
	h.cfg = supervisor.Config{
		NewEventID: func() string { return fmt.Sprintf("event-%p-%d", h, ids.Add(1)) },
		Log:        slog.New(slog.NewTextHandler(&h.log, nil)),
	}
	return h
}

// beside returns another gateway with the same database. It has the same launcher if that is shared.
func (h *harness) beside() *harness {
	h.t.Helper()
	launcher := newFakeLauncher()
	if h.launcher.runtime.Shared {
		launcher = h.launcher
	}
	other := newHarnessOn(h.t, h.store, launcher)
	other.cfg.MissingWorker = h.cfg.MissingWorker
	return other
}

// relaunching sets the policy that replaces lost workers.
func (h *harness) relaunching() *harness {
	h.cfg.MissingWorker = supervisor.Relaunch
	return h
}

func (h *harness) inSharedRuntime() *harness {
	h.launcher.runtime.Shared = true
	return h
}

// run starts Run. These monitors are started before.
func (h *harness) run(ids ...monitor.ID) *harness {
	h.t.Helper()
	port := h.launcher.connect()
	h.exits = port.exits
	sup, err := supervisor.New(h.store, port, h.cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.sup = sup
	for _, id := range ids {
		h.sup.Start(h.store.get(id))
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() { h.sup.Run(ctx); close(done) }()
	h.stop = func() { cancel(); <-done }
	h.t.Cleanup(h.stop)
	return h
}

// started runs the supervisor and waits for the end of its startup reconciliation.
func (h *harness) started(ids ...monitor.ID) *harness {
	h.t.Helper()
	h.run(ids...)
	h.sup.AwaitStart(h.t.Context())
	h.advance(0)
	return h
}

// release closes the launcher of a gateway that was stopped, and releases its monitors.
func (h *harness) release() {
	h.t.Helper()
	close(h.exits)
	if err := h.sup.Release(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) advance(d time.Duration) { time.Sleep(d); synctest.Wait() }

// reportFor lets time pass while these monitors' workers report every 10 s.
func (h *harness) reportFor(d time.Duration, ids ...monitor.ID) {
	for ; d > 0; d -= 10 * time.Second {
		h.advance(10 * time.Second)
		for _, id := range ids {
			h.store.report(id, monitor.Monitoring)
		}
	}
}

func (h *harness) expectCalls(want ...string) {
	h.t.Helper()
	if got := h.launcher.requests(); !slices.Equal(got, want) {
		h.t.Errorf("the launcher was asked %q, want %q", got, want)
	}
}

func (h *harness) expectActive(id monitor.ID) {
	h.t.Helper()
	if s := h.store.get(id).Status; !s.Active() {
		h.t.Errorf("%s is %s, want active", id, s)
	}
	if n := len(h.store.storedEvents()); n != 0 {
		h.t.Errorf("%d events, want none: %+v", n, h.store.storedEvents())
	}
}

func (h *harness) expectFailed(id monitor.ID, reason, detail string) {
	h.t.Helper()
	m := h.store.get(id)
	if m.Status != monitor.Failed || m.Reason != reason {
		h.t.Errorf("%s is %s (%s), want error (%s)", id, m.Status, m.Reason, reason)
	}
	events := h.store.storedEvents()
	if len(events) != 1 {
		h.t.Fatalf("%d events, want 1", len(events))
	}
	e := events[0]
	if err := e.Valid(); err != nil || e.ID == "" {
		h.t.Errorf("event %+v: %v", e, err)
	}
	trouble, _ := e.Data.(event.MonitorFailure)
	if e.Type != event.MonitorError || trouble.Reason != reason || !trouble.Terminal || !strings.Contains(trouble.ErrorDetails, detail) {
		h.t.Errorf("event %+v, want monitor.error, %s, terminal, %q", e, reason, detail)
	}
}

func (h *harness) expectReleased(id monitor.ID, want bool) {
	h.t.Helper()
	if m := h.store.get(id); m.ReservedUntil.IsZero() == want {
		h.t.Errorf("%s is reserved until %v; want it released: %v", id, m.ReservedUntil, want)
	}
}

// expectRunning compares the generation of a monitor's worker that runs; 0: none.
func (h *harness) expectRunning(id monitor.ID, want int) {
	h.t.Helper()
	if g := h.launcher.generation(id); g != want {
		h.t.Errorf("generation %d of %s runs, want %d", g, id, want)
	}
}

// expectCounts reads the report of the startup reconciliation in the log.
func (h *harness) expectCounts(want ...string) {
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
