package supervisor_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var errDatabase = errors.New("database is away")

// fakeStore is a supervisor.Store: a database in memory, as one gateway reaches it.
type fakeStore struct {
	*database
	gateway string                      // its name, if several gateways are elected from
	reach   func(context.Context) error // nil: nothing is between them
}

// database is what the stores of several gateways share.
type database struct {
	mu                  sync.Mutex
	monitors            map[monitor.ID]monitor.Monitor
	down                bool
	failingID           monitor.ID  // its changes fail
	lostAnswers         lostAnswers // answers that are lost after the change was made
	maxClaims           int         // reservations that one claim returns
	events              []event.Event
	notified            []monitor.ID // got an event, each once
	calls               map[string]int
	locked              bool       // another gateway has locked the reservations
	leader              string     // the gateway that leads; "": whoever asks
	hiddenID            monitor.ID // ListActive leaves it out
	reportsBeforeGet    int        // so many monitors report just before Get
	advancesBeforeEvent int        // so many monitors advance just before AddEvent
	heartbeats          map[string]int64
	promoteTime         time.Duration // Promote takes that long
	advanceTime         time.Duration // AdvanceGeneration takes that long, whatever its context
	hanging             string        // the call that hangs, by the name that it gives to begin
}

// lostAnswers counts answers that get lost, by method.
type lostAnswers struct{ advance, claim, promote, event int }

// lost reports whether an answer gets lost.
func lost(answers *int) bool {
	*answers--
	return *answers >= 0
}

func newFakeStore(ms ...monitor.Monitor) *fakeStore {
	d := &database{monitors: map[monitor.ID]monitor.Monitor{}, maxClaims: 8, heartbeats: map[string]int64{}, calls: map[string]int{}}
	for _, m := range ms {
		d.monitors[m.ID] = m
	}
	return &fakeStore{database: d}
}

// begin counts a call and locks the database, or returns why the call does not get through.
func (r *fakeStore) begin(ctx context.Context, call string) error {
	if r.reach != nil {
		if err := r.reach(ctx); err != nil {
			return err
		}
	}
	r.mu.Lock()
	r.calls[call]++
	if r.hanging == call {
		r.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	if r.down {
		r.mu.Unlock()
		return errDatabase
	}
	return nil
}

func (d *database) set(change func(*database)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

func (d *database) change(id monitor.ID, change func(*monitor.Monitor)) {
	d.set(func(d *database) {
		m := d.monitors[id]
		change(&m)
		d.monitors[id] = m
	})
}

func (d *database) add(ms ...monitor.Monitor) {
	d.set(func(d *database) {
		for _, m := range ms {
			d.monitors[m.ID] = m
		}
	})
}

func (d *database) report(id monitor.ID, status monitor.Status) {
	d.change(id, func(m *monitor.Monitor) { m.Status, m.UpdatedAt, m.ReportedAt = status, time.Now(), time.Now() })
}

// end stops a monitor as a DELETE would.
func (d *database) end(id monitor.ID) {
	d.change(id, func(m *monitor.Monitor) { m.Status = monitor.Stopped })
}

// asked returns how often a call was made since the calls were cleared.
func (d *database) asked(call string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[call]
}

func (d *database) get(id monitor.ID) monitor.Monitor {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.monitors[id]
}

func (d *database) storedEvents() []event.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.events)
}

func (r *fakeStore) ListActive(ctx context.Context) (active []monitor.Monitor, err error) {
	if err := r.begin(ctx, "active"); err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	for _, m := range r.monitors {
		if m.Status.Active() && m.ReservedUntil.IsZero() && m.ID != r.hiddenID {
			active = append(active, m)
		}
	}
	return active, nil
}

func (r *fakeStore) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	if err := r.begin(ctx, "get"); err != nil {
		return monitor.Monitor{}, err
	}
	defer r.mu.Unlock()
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

func (r *fakeStore) AdvanceGeneration(ctx context.Context, id monitor.ID, generation int, runtimeID string) (monitor.Monitor, error) {
	time.Sleep(r.advanceTime)
	if err := r.begin(ctx, "advance"); err != nil {
		return monitor.Monitor{}, err
	}
	defer r.mu.Unlock()
	if id == r.failingID {
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
	if lost(&r.lostAnswers.advance) {
		return monitor.Monitor{}, errDatabase
	}
	return m, nil
}

func (d *database) find(id monitor.ID, generation int) (monitor.Monitor, error) {
	m, there := d.monitors[id]
	switch {
	case !there || !m.Status.Active():
		return m, monitor.Errorf(monitor.NotFound, "no active monitor %s", id)
	case m.Generation != generation:
		return m, monitor.ErrSuperseded
	}
	return m, nil
}

func (r *fakeStore) Fail(ctx context.Context, before monitor.Monitor, reason string, last event.Event) error {
	if err := r.begin(ctx, "fail"); err != nil {
		return err
	}
	defer r.mu.Unlock()
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
	if err := r.begin(ctx, "event "+string(before.ID)); err != nil {
		return err
	}
	defer r.mu.Unlock()
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
	if lost(&r.lostAnswers.event) {
		return errDatabase
	}
	return nil
}

func (r *fakeStore) TryLead(ctx context.Context) (bool, error) {
	if err := r.begin(ctx, "lead"); err != nil {
		return false, err
	}
	defer r.mu.Unlock()
	return r.leader == "" || r.leader == r.gateway, nil
}

func (r *fakeStore) ClaimDue(ctx context.Context, term time.Duration) (taken []supervisor.Reservation, next time.Time, err error) {
	if err := r.begin(ctx, "due"); err != nil {
		return nil, next, err
	}
	defer r.mu.Unlock()
	now := time.Now()
	for id, m := range r.monitors {
		if m.Status.Active() && !m.ReservedUntil.IsZero() && !m.ReservedUntil.After(now) && len(taken) < r.maxClaims && !r.locked {
			m.ReservedUntil = now.Add(term)
			m.Generation++
			r.monitors[id] = m
			taken = append(taken, supervisor.Reservation{ID: id, Generation: m.Generation, HandedOver: m.RuntimeID != ""})
		}
		if m.Status.Active() && !m.ReservedUntil.IsZero() && (next.IsZero() || m.ReservedUntil.Before(next)) {
			next = m.ReservedUntil
		}
	}
	if lost(&r.lostAnswers.claim) {
		return nil, time.Time{}, errDatabase
	}
	return taken, next, nil
}

func (r *fakeStore) Promote(ctx context.Context, taken supervisor.Reservation, runtimeID string) (monitor.Monitor, error) {
	time.Sleep(r.promoteTime)
	if err := r.begin(ctx, "promote"); err != nil {
		return monitor.Monitor{}, err
	}
	defer r.mu.Unlock()
	if taken.ID == r.failingID {
		return monitor.Monitor{}, errDatabase
	}
	m, err := r.find(taken.ID, taken.Generation)
	if err != nil {
		return m, err
	}
	m.ReservedUntil, m.RuntimeID, m.UpdatedAt = time.Time{}, runtimeID, time.Now()
	r.monitors[taken.ID] = m
	if lost(&r.lostAnswers.promote) {
		return monitor.Monitor{}, errDatabase
	}
	return m, nil
}

func (r *fakeStore) Release(ctx context.Context, held []supervisor.Reservation) error {
	if err := r.begin(ctx, "release"); err != nil {
		return err
	}
	defer r.mu.Unlock()
	for _, h := range held {
		if m := r.monitors[h.ID]; m.Status.Active() && m.Generation == h.Generation && m.ReservedUntil.IsZero() {
			m.ReservedUntil = time.Now()
			r.monitors[h.ID] = m
		}
	}
	return nil
}

func (r *fakeStore) Heartbeat(ctx context.Context, runtimeID string) (map[string]int64, error) {
	if err := r.begin(ctx, "heartbeat"); err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	r.heartbeats[runtimeID]++
	return maps.Clone(r.heartbeats), nil
}

func (r *fakeStore) Leave(ctx context.Context, runtimeID string) error {
	if err := r.begin(ctx, "leave"); err != nil {
		return err
	}
	defer r.mu.Unlock()
	delete(r.heartbeats, runtimeID)
	return nil
}
