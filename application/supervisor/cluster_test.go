package supervisor_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// cluster is several gateways with inline workers on one database.
type cluster struct {
	t        *testing.T
	store    *fakeStore
	policy   supervisor.MissingWorkerPolicy
	outlives bool // workers of gateways that start from now on outlive them, as pods do
	monitors int
	gateways map[string]*inlineGateway // by runtime ID
	passed   time.Duration

	mu     sync.Mutex
	leader string // who holds the leader's lock
}

// newCluster starts gateways, of which the first leads, and launches a worker of every monitor at
// the first. Some time passes, in which the workers report.
func newCluster(t *testing.T, monitors int, names ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, store: newFakeStore(), policy: supervisor.Relaunch, monitors: monitors, gateways: map[string]*inlineGateway{}, leader: names[0]}
	for i := range monitors {
		m := monitored(monitor.NewID([16]byte{0: byte(i >> 8), 1: byte(i)}))
		m.RuntimeID = names[0]
		c.store.monitors[m.ID] = m
	}
	for i, name := range names {
		var ids []monitor.ID
		for _, m := range c.all() {
			if i == 0 {
				ids = append(ids, m.ID)
			}
		}
		c.start(name, ids...)
	}
	c.advance(12 * time.Second)
	return c
}

// start starts a gateway with workers of these monitors.
func (c *cluster) start(name string, ids ...monitor.ID) *inlineGateway {
	c.t.Helper()
	launcher := newFakeLauncher()
	launcher.exits = make(chan supervisor.Exit, 1000)
	launcher.runtime = supervisor.Runtime{ID: name, Shared: c.outlives, NotFoundMessage: "Worker not found here"}
	g := &inlineGateway{harness: &harness{t: c.t, store: c.store, launcher: launcher}, name: name, cluster: c}
	sup, err := supervisor.New(g, launcher, supervisor.Config{
		NewEventID: func() string { return "event" }, MissingWorker: c.policy, Log: slog.New(slog.NewTextHandler(&g.log, nil)),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	g.sup = sup
	g.run(ids...)
	joined, leave := context.WithCancel(c.t.Context())
	done := make(chan struct{})
	go func() { g.sup.Join(joined); close(done) }()
	g.leave = func() { leave(); <-done }
	c.gateways[name] = g
	return g
}

// stop ends what is left of all gateways.
func (c *cluster) stop() {
	for _, g := range c.gateways {
		g.resume()
		g.leave()
		g.stop()
	}
}

// advance lets time pass. Every 10 s the workers of all gateways that run report.
func (c *cluster) advance(d time.Duration) {
	for ; d > 0; d -= min(d, time.Second) {
		time.Sleep(min(d, time.Second))
		synctest.Wait()
		if c.passed += min(d, time.Second); c.passed%(10*time.Second) < time.Second {
			for _, g := range c.gateways {
				g.workersReport()
			}
		}
	}
}

// all returns the monitors.
func (c *cluster) all() (all []monitor.Monitor) {
	c.store.set(func(s *fakeStore) { all = slices.Collect(maps.Values(s.monitors)) })
	return all
}

// elect gives a gateway the leader's lock.
func (c *cluster) elect(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leader = name
}

func (c *cluster) leads(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leader == name
}

// watchedAt counts the monitors whose newest worker runs at each gateway that is not dead.
func (c *cluster) watchedAt() map[string]int {
	at := map[string]int{}
	for _, m := range c.all() {
		if g := c.gateways[m.RuntimeID]; g != nil && !g.is(dead) && g.launcher.generation(m.ID) == m.Generation {
			at[g.name]++
		}
	}
	return at
}

// waitWatched lets time pass until all monitors are watched, and returns how long that took.
func (c *cluster) waitWatched() time.Duration {
	c.t.Helper()
	for began := time.Now(); ; c.advance(50 * time.Millisecond) {
		watched := 0
		for _, n := range c.watchedAt() {
			watched += n
		}
		if took := time.Since(began); watched == c.monitors || took > time.Minute {
			return took
		}
	}
}

// expectLaunches fails the test unless the launcher of the gateway was asked for n launches and nothing else.
func (g *inlineGateway) expectLaunches(n int) {
	g.t.Helper()
	if got := len(g.launcher.requests()); got != n {
		g.t.Errorf("%s launched %d workers, want %d", g.name, got, n)
	}
}

// gatewayState is whether a gateway runs, and what it can reach.
type gatewayState int

const (
	healthy      gatewayState = iota
	disconnected              // it cannot reach the database
	suspended                 // its process is stopped by a signal
	dead
)

// inlineGateway is a gateway with inline workers. It is the supervisor.Store of its supervisor, and
// passes on what gets through to the database.
type inlineGateway struct {
	*harness
	name    string
	cluster *cluster
	leave   func() // ends Join

	mu      sync.Mutex
	state   gatewayState
	resumed chan struct{} // closed when it is not suspended any more
}

var _ supervisor.Store = (*inlineGateway)(nil)

func (g *inlineGateway) is(s gatewayState) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == s
}

func (g *inlineGateway) set(to gatewayState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == suspended && to != suspended {
		close(g.resumed)
	}
	if g.state != suspended && to == suspended {
		g.resumed = make(chan struct{})
	}
	g.state = to
}

func (g *inlineGateway) disconnect() { g.set(disconnected) }
func (g *inlineGateway) suspend()    { g.set(suspended) }

// resume ends a suspension or a trouble of the network, but not death.
func (g *inlineGateway) resume() {
	if !g.is(dead) {
		g.set(healthy)
	}
}

// kill ends the gateway and its workers. The server ends its sessions, so another gateway becomes
// the leader.
func (g *inlineGateway) kill() {
	g.set(dead)
	for name := range g.cluster.gateways {
		if name != g.name && g.cluster.leads(g.name) {
			g.cluster.elect(name)
		}
	}
}

// workersReport lets the workers report. One that is not the newest ends (decision O2).
func (g *inlineGateway) workersReport() {
	if !g.is(healthy) {
		return
	}
	all, _ := g.launcher.Workers(context.Background())
	for _, w := range all {
		switch m := g.store.get(w.ID); {
		case m.Generation != w.Generation:
			g.launcher.exit(w.ID, "another worker has taken over")
		default:
			g.store.report(w.ID, monitor.Monitoring)
			g.sup.RenewLease(w.ID, w.Generation)
		}
	}
}

// reach returns an error unless the database can be reached.
func (g *inlineGateway) reach(ctx context.Context) error {
	g.mu.Lock()
	resumed := g.resumed
	waits := g.state == suspended
	g.mu.Unlock()
	if waits {
		<-resumed // no timer of its own ends that
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case g.is(disconnected), g.is(dead):
		return errDatabase
	}
	return nil
}

func (g *inlineGateway) ListActive(ctx context.Context) ([]monitor.Monitor, error) {
	if err := g.reach(ctx); err != nil {
		return nil, err
	}
	return g.store.ListActive(ctx)
}

func (g *inlineGateway) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	if err := g.reach(ctx); err != nil {
		return monitor.Monitor{}, err
	}
	return g.store.Get(ctx, id)
}

func (g *inlineGateway) AdvanceGeneration(ctx context.Context, id monitor.ID, generation int, runtimeID string) (monitor.Monitor, error) {
	if err := g.reach(ctx); err != nil {
		return monitor.Monitor{}, err
	}
	return g.store.AdvanceGeneration(ctx, id, generation, runtimeID)
}

func (g *inlineGateway) Fail(ctx context.Context, m monitor.Monitor, reason string, last event.Event) error {
	if err := g.reach(ctx); err != nil {
		return err
	}
	return g.store.Fail(ctx, m, reason, last)
}

func (g *inlineGateway) AddEvent(ctx context.Context, m monitor.Monitor, e event.Event) error {
	if err := g.reach(ctx); err != nil {
		return err
	}
	return g.store.AddEvent(ctx, m, e)
}

func (g *inlineGateway) TryLead(ctx context.Context) (bool, error) {
	if err := g.reach(ctx); err != nil {
		return false, err
	}
	_, err := g.store.TryLead(ctx)
	return err == nil && g.cluster.leads(g.name), err
}

func (g *inlineGateway) ClaimDue(ctx context.Context, term time.Duration) ([]supervisor.Reservation, time.Time, error) {
	if err := g.reach(ctx); err != nil {
		return nil, time.Time{}, err
	}
	return g.store.ClaimDue(ctx, term)
}

func (g *inlineGateway) Promote(ctx context.Context, r supervisor.Reservation, runtimeID string) (monitor.Monitor, error) {
	if err := g.reach(ctx); err != nil {
		return monitor.Monitor{}, err
	}
	return g.store.Promote(ctx, r, runtimeID)
}

func (g *inlineGateway) Release(ctx context.Context, all []supervisor.Reservation) error {
	if err := g.reach(ctx); err != nil {
		return err
	}
	return g.store.Release(ctx, all)
}

func (g *inlineGateway) Heartbeat(ctx context.Context, runtimeID string) (map[string]int64, error) {
	if err := g.reach(ctx); err != nil {
		return nil, err
	}
	return g.store.Heartbeat(ctx, runtimeID)
}

func (g *inlineGateway) Leave(ctx context.Context, runtimeID string) error {
	if err := g.reach(ctx); err != nil {
		return err
	}
	return g.store.Leave(ctx, runtimeID)
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", i))
	}
	return all
}
