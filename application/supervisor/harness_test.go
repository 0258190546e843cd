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

// scenario is a test on virtual time.
func scenario(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func newMonitor(id monitor.ID) monitor.Monitor {
	return monitor.Monitor{ID: id, Generation: 1, Status: monitor.Initializing, Config: monitor.DefaultConfig(),
		StreamURL: "https://www.youtube.com/watch?v=XXXXXXXXXXX", CallbackURL: "https://receiver.example/hook"}
}

// harness is a supervisor with fakes around it.
type harness struct {
	t        *testing.T
	store    *fakeStore
	launcher *fakeLauncher
	sup      *supervisor.Supervisor
	log      logbuffer.Buffer
	stop     func() // ends Run and waits for it
}

func newHarness(t *testing.T, ms ...monitor.Monitor) *harness {
	t.Helper()
	return newHarnessOn(t, newFakeStore(ms...))
}

// newHarnessOn uses a store that other harnesses may share.
func newHarnessOn(t *testing.T, all *fakeStore, change ...func(*supervisor.Config)) *harness {
	t.Helper()
	return newHarnessWith(t, all, newFakeLauncher(), change...)
}

// newHarnessWith uses a launcher that other harnesses may share, too.
func newHarnessWith(t *testing.T, all *fakeStore, l *fakeLauncher, change ...func(*supervisor.Config)) *harness {
	t.Helper()
	h := &harness{t: t, store: all, launcher: l}
	var ids atomic.Int64
	cfg := supervisor.Config{
		NewEventID: func() string { return fmt.Sprintf("event-%d", ids.Add(1)) },
		Log:        slog.New(slog.NewTextHandler(&h.log, nil)),
	}
	for _, c := range change {
		c(&cfg)
	}
	sup, err := supervisor.New(h.store, h.launcher, cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.sup = sup
	return h
}

// relaunchPolicy is the policy that replaces lost workers.
func relaunchPolicy(c *supervisor.Config) { c.MissingWorker = supervisor.Relaunch }

// run starts Run, which stop ends. These monitors are started before.
func (h *harness) run(ids ...monitor.ID) *harness {
	for _, id := range ids {
		h.sup.Start(h.store.get(id))
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() { h.sup.Run(ctx); close(done) }()
	h.stop = func() { cancel(); <-done }
	return h
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
