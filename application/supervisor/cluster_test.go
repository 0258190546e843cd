package supervisor_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// cluster is several gateways with inline workers on one database.
type cluster struct {
	t        *testing.T
	store    *fakeStore
	policy   supervisor.MissingWorkerPolicy
	outlives bool // workers of gateways that start from now on outlive them, as pods do
	monitors int
	gateways []*inlineGateway
	passed   time.Duration
}

// newCluster starts gateways, of which the first leads, and launches a worker of every monitor at
// the first. Some time passes, in which the workers report.
func newCluster(t *testing.T, monitors, gateways int) *cluster {
	t.Helper()
	c := &cluster{t: t, store: newFakeStore(), policy: supervisor.Relaunch, monitors: monitors}
	var ids []monitor.ID
	for i := range monitors {
		m := monitored(monitor.NewID([16]byte{0: byte(i >> 8), 1: byte(i)}))
		m.RuntimeID = runtimeID(0)
		c.store.add(m)
		ids = append(ids, m.ID)
	}
	c.elect(runtimeID(0))
	for i := range gateways {
		c.start(runtimeID(i), ids...)
		ids = nil
	}
	c.advance(12 * time.Second)
	return c
}

func newPair(t *testing.T, monitors int) (c *cluster, a, b *inlineGateway) {
	t.Helper()
	c = newCluster(t, monitors, 2)
	return c, c.gateways[0], c.gateways[1]
}

func runtimeID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", n) }

func (c *cluster) start(name string, ids ...monitor.ID) *inlineGateway {
	c.t.Helper()
	g := &inlineGateway{cluster: c, name: name}
	g.harness = newHarnessOn(c.t, &fakeStore{c.store.database, name, g.reach}, newFakeLauncher())
	g.launcher.runtime = supervisor.Runtime{ID: name, Shared: c.outlives, NotFoundMessage: "Worker not found here"}
	g.cfg.MissingWorker = c.policy
	g.run(ids...)
	joined, leave := context.WithCancel(c.t.Context())
	done := make(chan struct{})
	go func() { g.sup.Join(joined); close(done) }()
	g.leave = func() { leave(); <-done }
	c.t.Cleanup(func() { g.resume(); g.leave() })
	c.gateways = append(c.gateways, g)
	return g
}

func (c *cluster) addAt(name string, id monitor.ID) *inlineGateway {
	c.t.Helper()
	m := monitored(id)
	m.RuntimeID = name
	c.store.add(m)
	return c.start(name, id)
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

func (c *cluster) all() (all []monitor.Monitor) {
	c.store.set(func(d *database) { all = slices.Collect(maps.Values(d.monitors)) })
	return all
}

// elect gives a gateway the leader's lock.
func (c *cluster) elect(name string) { c.store.set(func(d *database) { d.leader = name }) }

// watchedAt counts the monitors whose newest worker runs at each gateway that is not dead.
func (c *cluster) watchedAt() map[string]int {
	at := map[string]int{}
	for _, m := range c.all() {
		for _, g := range c.gateways {
			if g.name == m.RuntimeID && !g.is(dead) && g.launcher.generation(m.ID) == m.Generation {
				at[g.name]++
			}
		}
	}
	return at
}

// expectWatched compares how many monitors are watched at a gateway.
func (g *inlineGateway) expectWatched(want int) {
	g.t.Helper()
	if at := g.cluster.watchedAt(); at[g.name] != want {
		g.t.Errorf("watched at %v, want %d at %s", at, want, g.name)
	}
}

// waitWatched lets time pass until all monitors are watched, and expects that it took no longer than most.
func (c *cluster) waitWatched(most time.Duration) (took time.Duration) {
	c.t.Helper()
	for began := time.Now(); ; c.advance(50 * time.Millisecond) {
		watched := 0
		for _, n := range c.watchedAt() {
			watched += n
		}
		if took = time.Since(began); watched == c.monitors || took > most {
			break
		}
	}
	if took > most {
		c.t.Errorf("%v of %d are watched after %v", c.watchedAt(), c.monitors, took)
	}
	return took
}

// gatewayState is whether a gateway runs, and what it can reach.
type gatewayState int

const (
	healthy      gatewayState = iota
	disconnected              // it cannot reach the database
	suspended                 // its process is stopped by a signal
	dead
)

// inlineGateway is a gateway with inline workers.
type inlineGateway struct {
	*harness
	name    string
	cluster *cluster
	leave   func() // ends Join

	mu      sync.Mutex
	state   gatewayState
	resumed chan struct{} // closed when it is not suspended any more
}

// expectLaunches fails the test unless the launcher was asked for n launches and nothing else.
func (g *inlineGateway) expectLaunches(n int) {
	g.t.Helper()
	if got := len(g.launcher.requests()); got != n {
		g.t.Errorf("%s launched %d workers, want %d", g.name, got, n)
	}
}

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
	g.cluster.store.set(func(d *database) {
		for _, other := range g.cluster.gateways {
			if d.leader == g.name && !other.is(dead) {
				d.leader = other.name
			}
		}
	})
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

// end ends what is left of a dead gateway, so that another one may have its name.
func (g *inlineGateway) end() { g.leave(); g.stop() }
