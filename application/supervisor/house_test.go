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

func registered(id monitor.ID) monitor.Monitor {
	return monitor.Monitor{ID: id, Generation: 1, Status: monitor.Initializing, Config: monitor.DefaultConfig(),
		StreamURL: "https://www.youtube.com/watch?v=XXXXXXXXXXX", CallbackURL: "https://receiver.example/hook"}
}

// house is a supervisor with everything around it.
type house struct {
	t        *testing.T
	roster   *roster
	launcher *launcher
	sup      *supervisor.Supervisor
	log      logbuffer.Buffer
	close    func() // ends Run and waits for it
}

func newHouse(t *testing.T, ms ...monitor.Monitor) *house {
	t.Helper()
	return houseOf(t, newRoster(ms...))
}

// houseOf is a house on a roster that others may share.
func houseOf(t *testing.T, all *roster, change ...func(*supervisor.Config)) *house {
	t.Helper()
	return houseWith(t, all, newLauncher(), change...)
}

// houseWith is a house that may share its launcher's place, too.
func houseWith(t *testing.T, all *roster, l *launcher, change ...func(*supervisor.Config)) *house {
	t.Helper()
	h := &house{t: t, roster: all, launcher: l}
	var ids atomic.Int64
	cfg := supervisor.Config{
		NewEventID: func() string { return fmt.Sprintf("event-%d", ids.Add(1)) },
		Log:        slog.New(slog.NewTextHandler(&h.log, nil)),
	}
	for _, c := range change {
		c(&cfg)
	}
	sup, err := supervisor.New(h.roster, h.launcher, cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.sup = sup
	return h
}

// relaunching is the policy that replaces lost workers.
func relaunching(c *supervisor.Config) { c.MissingWorker = supervisor.Relaunch }

// looking goes on comparing until the house is closed.
func (h *house) looking() *house {
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() { h.sup.Watch(ctx); close(done) }()
	shut := h.close
	h.close = func() { cancel(); <-done; shut() }
	return h
}

// open begins to run.
func (h *house) open() *house {
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() { h.sup.Run(ctx); close(done) }()
	h.close = func() { cancel(); <-done }
	return h
}

func (h *house) after(d time.Duration) { time.Sleep(d); synctest.Wait() }

// lives lets time pass in which monitors are reported for.
func (h *house) lives(d time.Duration, ids ...monitor.ID) {
	for ; d > 0; d -= 10 * time.Second {
		h.after(10 * time.Second)
		for _, id := range ids {
			h.roster.reports(id, monitor.Monitoring)
		}
	}
}

func (h *house) expectCalls(want ...string) {
	h.t.Helper()
	if got := h.launcher.seen(); !slices.Equal(got, want) {
		h.t.Errorf("the launcher was asked %q, want %q", got, want)
	}
}

func (h *house) expectActive(id monitor.ID) {
	h.t.Helper()
	if s := h.roster.get(id).Status; !s.Active() {
		h.t.Errorf("%s is %s, want active", id, s)
	}
	if n := len(h.roster.told()); n != 0 {
		h.t.Errorf("%d events, want none: %+v", n, h.roster.told())
	}
}

func (h *house) expectGivenUp(id monitor.ID, reason, detail string) {
	h.t.Helper()
	m := h.roster.get(id)
	if m.Status != monitor.Failed || m.Reason != reason {
		h.t.Errorf("%s is %s (%s), want error (%s)", id, m.Status, m.Reason, reason)
	}
	told := h.roster.told()
	if len(told) != 1 {
		h.t.Fatalf("%d events, want 1", len(told))
	}
	e := told[0]
	if err := e.Valid(); err != nil || e.ID == "" {
		h.t.Errorf("event %+v: %v", e, err)
	}
	trouble, _ := e.Data.(event.Trouble)
	if e.Type != event.MonitorError || trouble.Reason != reason || !trouble.Terminal || !strings.Contains(trouble.ErrorDetails, detail) {
		h.t.Errorf("event %+v, want monitor.error, %s, terminal, %q", e, reason, detail)
	}
}
