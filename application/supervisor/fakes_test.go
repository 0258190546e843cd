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

// roster is supervisor.Store in memory.
type roster struct {
	mu       sync.Mutex
	monitors map[monitor.ID]monitor.Monitor
	down     bool
	stuck    monitor.ID // cannot be advanced or promoted
	lost     lost       // answers that will not arrive, though what was asked was done
	most     int        // reservations given at once
	events   []event.Event
	whom     []monitor.ID // was told something, each once
	reads    int
	looks    int        // for reservations
	tries    int        // to promote one
	locked   bool       // somebody else has the reservations' rows
	led      bool       // somebody else is elected
	hides    monitor.ID // is not among the active yet
	stutters int        // monitors that report just before they are read
	overtook int        // monitors that are advanced just before they are told something
	hangs    string     // what is not answered: active, get, due, promote, tell and whom
}

func newRoster(ms ...monitor.Monitor) *roster {
	r := &roster{monitors: map[monitor.ID]monitor.Monitor{}, most: 8}
	for _, m := range ms {
		r.monitors[m.ID] = m
	}
	return r
}

func (r *roster) set(change func(*roster)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

func (r *roster) get(id monitor.ID) monitor.Monitor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.monitors[id]
}

func (r *roster) told() []event.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func (r *roster) ListActive(ctx context.Context) ([]monitor.Monitor, error) {
	if err := r.answers(ctx, "active"); err != nil {
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
		if m.Status.Active() && m.ReservedUntil.IsZero() && m.ID != r.hides {
			out = append(out, m)
		}
	}
	return out, nil
}

// reports is what a worker's report does.
func (r *roster) reports(id monitor.ID, status monitor.Status) {
	r.set(func(r *roster) {
		m := r.monitors[id]
		m.Status, m.UpdatedAt, m.ReportedAt = status, time.Now(), time.Now()
		r.monitors[id] = m
	})
}

func (r *roster) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	if err := r.answers(ctx, "get"); err != nil {
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
	if r.stutters > 0 {
		r.stutters--
		m.UpdatedAt = time.Now()
		r.monitors[id] = m
	}
	return m, nil
}

func (r *roster) AdvanceGeneration(_ context.Context, id monitor.ID, generation int, place string) (monitor.Monitor, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down || id == r.stuck {
		return monitor.Monitor{}, errDatabase
	}
	if m, err := r.held(id, generation+1); err == nil && m.RuntimeID == place {
		return m, nil // by an attempt whose answer was lost
	}
	m, err := r.held(id, generation)
	if err != nil {
		return m, err
	}
	m.Generation++
	m.RuntimeID, m.UpdatedAt, m.ReportedAt = place, time.Now(), time.Time{}
	r.monitors[id] = m
	if r.lost.advance > 0 {
		r.lost.advance--
		return monitor.Monitor{}, errDatabase
	}
	return m, nil
}

// held is an active monitor of this generation.
func (r *roster) held(id monitor.ID, generation int) (monitor.Monitor, error) {
	m, there := r.monitors[id]
	switch {
	case !there || !m.Status.Active():
		return m, monitor.Errorf(monitor.NotFound, "no active monitor %s", id)
	case m.Generation != generation:
		return m, monitor.ErrSuperseded
	}
	return m, nil
}

func (r *roster) Fail(_ context.Context, before monitor.Monitor, reason string, last event.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return errDatabase
	}
	m, err := r.held(before.ID, before.Generation)
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

func (r *roster) AddEvent(ctx context.Context, before monitor.Monitor, e event.Event) error {
	if err := r.answers(ctx, "tell "+string(before.ID)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return errDatabase
	}
	if r.overtook > 0 {
		r.overtook--
		m := r.monitors[before.ID]
		m.Generation++
		r.monitors[before.ID] = m
	}
	if _, err := r.held(before.ID, before.Generation); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.events, func(known event.Event) bool { return known.ID == e.ID }) {
		r.events, r.whom = append(r.events, e), append(r.whom, before.ID)
	}
	if r.lost.tell > 0 {
		r.lost.tell--
		return errDatabase
	}
	return nil
}

func (r *roster) TryLead(context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return false, errDatabase
	}
	return !r.led, nil
}

// ends moves a monitor to an end, as a caller's DELETE would.
func (r *roster) ends(id monitor.ID) {
	r.set(func(r *roster) {
		m := r.monitors[id]
		m.Status = monitor.Stopped
		r.monitors[id] = m
	})
}

// launcher is supervisor.Launcher in memory. It remembers what it was asked as
// lines like "launch mon-a 1".
type launcher struct {
	mu        sync.Mutex
	calls     []string
	place     supervisor.Runtime
	blind     bool // cannot tell who runs
	running   map[monitor.ID]int
	hindrance string        // what keeps workers from starting
	failing   int           // so many launches fail
	slow      time.Duration // a launch takes
	ending    time.Duration // a stop takes
	busy      int
	busiest   int // launches at once
	exits     chan supervisor.Exit
}

func newLauncher() *launcher {
	return &launcher{place: supervisor.Runtime{ID: "here", NotFoundMessage: "Worker not found here"}, running: map[monitor.ID]int{}, exits: make(chan supervisor.Exit, 100)}
}

func (l *launcher) set(change func(*launcher)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

func (l *launcher) seen() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

func (l *launcher) generation(id monitor.ID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[id]
}

// Launch replaces an older worker, whose exit comes first. It is not atomic: cut
// short, it leaves a worker behind, as a real one may.
func (l *launcher) Launch(ctx context.Context, j supervisor.WorkerSpec) error {
	l.mu.Lock()
	l.calls = append(l.calls, fmt.Sprintf("launch %s %d", j.ID, j.Generation))
	l.busy++
	l.busiest = max(l.busiest, l.busy)
	slow, fails := l.slow, l.failing > 0
	l.failing = max(l.failing-1, 0)
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
	l.busy--
	if fails {
		return errors.New("no room")
	}
	l.running[j.ID] = max(l.running[j.ID], j.Generation)
	return err
}

func (l *launcher) Stop(ctx context.Context, id monitor.ID) error {
	l.mu.Lock()
	l.calls = append(l.calls, fmt.Sprintf("stop %s", id))
	ending := l.ending
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

func (l *launcher) Runtime() supervisor.Runtime {
	return l.place
}

func (l *launcher) Workers(context.Context) ([]supervisor.Worker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blind {
		return nil, errors.New("no view")
	}
	var all []supervisor.Worker
	for id, g := range l.running {
		all = append(all, supervisor.Worker{ID: id, Generation: g, Pending: l.hindrance != "", PendingReason: l.hindrance})
	}
	return all, nil
}

func (l *launcher) Exits() <-chan supervisor.Exit { return l.exits }

// dies ends a worker as if by itself.
func (l *launcher) dies(id monitor.ID, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.running[id]
	delete(l.running, id)
	l.exits <- supervisor.Exit{ID: id, Generation: g, Detail: how, Clean: how == "exit status 0"}
}
