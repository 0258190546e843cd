package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var errDatabase = errors.New("database is away")

// fakeStore is a supervisor.Store in memory.
type fakeStore struct {
	mu                  sync.Mutex
	monitors            map[monitor.ID]monitor.Monitor
	down                bool
	failingID           monitor.ID  // its changes fail
	lostAnswers         lostAnswers // answers that are lost after the change was made
	maxClaims           int         // reservations that one claim returns
	events              []event.Event
	notified            []monitor.ID // got an event, each once
	reads               int
	claims              int        // calls of ClaimDue
	promotions          int        // calls of Promote
	locked              bool       // another gateway has locked the reservations
	otherLeads          bool       // another gateway is the leader
	hiddenID            monitor.ID // ListActive leaves it out
	reportsBeforeGet    int        // so many monitors report just before Get
	advancesBeforeEvent int        // so many monitors advance just before AddEvent
	heartbeats          map[string]int64
	promoteTime         time.Duration // Promote takes that long
	advanceTime         time.Duration // AdvanceGeneration takes that long, whatever its context
	hanging             string        // the method that hangs: active, get, due, promote, or event and an ID
}

func newFakeStore(ms ...monitor.Monitor) *fakeStore {
	r := &fakeStore{monitors: map[monitor.ID]monitor.Monitor{}, maxClaims: 8, heartbeats: map[string]int64{}}
	for _, m := range ms {
		r.monitors[m.ID] = m
	}
	return r
}

func (r *fakeStore) set(change func(*fakeStore)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

func (r *fakeStore) get(id monitor.ID) monitor.Monitor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.monitors[id]
}

func (r *fakeStore) storedEvents() []event.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func (r *fakeStore) ListActive(ctx context.Context) ([]monitor.Monitor, error) {
	if err := r.waitIfHanging(ctx, "active"); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	if r.down {
		return nil, errDatabase
	}
	var out []monitor.Monitor
	for _, m := range r.monitors {
		if m.Status.Active() && m.ReservedUntil.IsZero() && m.ID != r.hiddenID {
			out = append(out, m)
		}
	}
	return out, nil
}

// report stores a worker's report.
func (r *fakeStore) report(id monitor.ID, status monitor.Status) {
	r.set(func(r *fakeStore) {
		m := r.monitors[id]
		m.Status, m.UpdatedAt, m.ReportedAt = status, time.Now(), time.Now()
		r.monitors[id] = m
	})
}

func (r *fakeStore) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	if err := r.waitIfHanging(ctx, "get"); err != nil {
		return monitor.Monitor{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	if r.down {
		return monitor.Monitor{}, errDatabase
	}
	m, there := r.monitors[id]
	if !there {
		return m, monitor.Errorf(monitor.NotFound, "no monitor %s", id)
	}
	if r.reportsBeforeGet > 0 {
		r.reportsBeforeGet--
		m.UpdatedAt = time.Now()
		r.monitors[id] = m
	}
	return m, nil
}

func (r *fakeStore) AdvanceGeneration(_ context.Context, id monitor.ID, generation int, runtimeID string) (monitor.Monitor, error) {
	time.Sleep(r.advanceTime)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down || id == r.failingID {
		return monitor.Monitor{}, errDatabase
	}
	if m, err := r.find(id, generation+1); err == nil && m.RuntimeID == runtimeID {
		return m, nil // by an attempt whose answer was lost
	}
	m, err := r.find(id, generation)
	if err != nil {
		return m, err
	}
	m.Generation++
	m.RuntimeID, m.UpdatedAt, m.ReportedAt = runtimeID, time.Now(), time.Time{}
	r.monitors[id] = m
	if r.lostAnswers.advance > 0 {
		r.lostAnswers.advance--
		return monitor.Monitor{}, errDatabase
	}
	return m, nil
}

// find returns an active monitor of this generation.
func (r *fakeStore) find(id monitor.ID, generation int) (monitor.Monitor, error) {
	m, there := r.monitors[id]
	switch {
	case !there || !m.Status.Active():
		return m, monitor.Errorf(monitor.NotFound, "no active monitor %s", id)
	case m.Generation != generation:
		return m, monitor.ErrSuperseded
	}
	return m, nil
}

func (r *fakeStore) Fail(_ context.Context, before monitor.Monitor, reason string, last event.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return errDatabase
	}
	m, err := r.find(before.ID, before.Generation)
	switch {
	case err != nil:
		return err
	case m.Status != before.Status:
		return monitor.ErrSuperseded
	}
	m.Status, m.Reason, m.EndedAt = monitor.Failed, reason, last.At
	r.monitors[m.ID] = m
	r.events = append(r.events, last)
	return nil
}

func (r *fakeStore) AddEvent(ctx context.Context, before monitor.Monitor, e event.Event) error {
	if err := r.waitIfHanging(ctx, "event "+string(before.ID)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return errDatabase
	}
	if r.advancesBeforeEvent > 0 {
		r.advancesBeforeEvent--
		m := r.monitors[before.ID]
		m.Generation++
		r.monitors[before.ID] = m
	}
	if _, err := r.find(before.ID, before.Generation); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.events, func(known event.Event) bool { return known.ID == e.ID }) {
		r.events, r.notified = append(r.events, e), append(r.notified, before.ID)
	}
	if r.lostAnswers.event > 0 {
		r.lostAnswers.event--
		return errDatabase
	}
	return nil
}

func (r *fakeStore) TryLead(context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return false, errDatabase
	}
	return !r.otherLeads, nil
}

// end stops a monitor as a DELETE would.
func (r *fakeStore) end(id monitor.ID) {
	r.set(func(r *fakeStore) {
		m := r.monitors[id]
		m.Status = monitor.Stopped
		r.monitors[id] = m
	})
}

// fakeLauncher is a supervisor.Launcher in memory. It records requests as lines such
// as "launch mon-a 1".
type fakeLauncher struct {
	mu             sync.Mutex
	calls          []string
	runtime        supervisor.Runtime
	listFails      bool // Workers fails
	listLacks      bool // Workers lists nothing: it is behind
	running        map[monitor.ID]int
	refused        map[monitor.ID]int // generations whose token the gateway refuses
	pendingReason  string             // workers are pending for this reason
	launchFailures int                // so many launches fail
	launchTime     time.Duration      // a launch takes
	stopTime       time.Duration      // a stop takes
	launching      int
	maxLaunching   int // launches at once
	exits          chan supervisor.Exit
}

func newFakeLauncher() *fakeLauncher {
	return &fakeLauncher{runtime: supervisor.Runtime{ID: "here", NotFoundMessage: "Worker not found here"}, running: map[monitor.ID]int{}, exits: make(chan supervisor.Exit, 100)}
}

func (l *fakeLauncher) set(change func(*fakeLauncher)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

func (l *fakeLauncher) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

func (l *fakeLauncher) generation(id monitor.ID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[id]
}

// Launch replaces an older worker, whose exit comes first. It is not atomic: cut
// short, it leaves a worker behind, as a real one may.
func (l *fakeLauncher) Launch(ctx context.Context, j supervisor.WorkerSpec) error {
	l.mu.Lock()
	l.calls = append(l.calls, fmt.Sprintf("launch %s %d", j.ID, j.Generation))
	l.launching++
	l.maxLaunching = max(l.maxLaunching, l.launching)
	slow, fails := l.launchTime, l.launchFailures > 0
	l.launchFailures = max(l.launchFailures-1, 0)
	if g := l.running[j.ID]; g != 0 && g < j.Generation {
		delete(l.running, j.ID)
		l.exits <- supervisor.Exit{ID: j.ID, Generation: g, Detail: "exit status 0", Clean: true}
	}
	l.mu.Unlock()

	var err error
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		err = ctx.Err()
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.launching--
	if fails {
		return errors.New("no room")
	}
	l.running[j.ID] = max(l.running[j.ID], j.Generation)
	return err
}

func (l *fakeLauncher) Stop(ctx context.Context, id monitor.ID) error {
	l.mu.Lock()
	l.calls = append(l.calls, fmt.Sprintf("stop %s", id))
	ending := l.stopTime
	l.mu.Unlock()
	select {
	case <-time.After(ending):
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if g := l.running[id]; g != 0 {
		delete(l.running, id)
		l.exits <- supervisor.Exit{ID: id, Generation: g, Detail: "exit status 0", Clean: true}
	}
	return nil
}

func (l *fakeLauncher) Runtime() supervisor.Runtime {
	return l.runtime
}

func (l *fakeLauncher) Workers(context.Context) ([]supervisor.Worker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listFails {
		return nil, errors.New("no view")
	}
	var all []supervisor.Worker
	if l.listLacks {
		return all, nil
	}
	for id, g := range l.running {
		all = append(all, supervisor.Worker{ID: id, Generation: g, Pending: l.pendingReason != "", PendingReason: l.pendingReason, Refused: l.refused[id] == g})
	}
	return all, nil
}

func (l *fakeLauncher) Runs(_ context.Context, id monitor.ID, generation int) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listFails {
		return false, errors.New("no view")
	}
	return l.running[id] >= generation, nil
}

func (l *fakeLauncher) Exits() <-chan supervisor.Exit { return l.exits }

// exit ends a worker as if by itself.
func (l *fakeLauncher) exit(id monitor.ID, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.running[id]
	delete(l.running, id)
	l.exits <- supervisor.Exit{ID: id, Generation: g, Detail: how, Clean: how == "exit status 0"}
}
