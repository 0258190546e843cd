package supervisor

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// observation is what was read of desired and actual: the monitors that need a worker, and
// the workers that run.
type observation struct {
	leader  bool
	claimed int       // reservations; more may be due
	nextDue time.Time // when the next reservation is due; zero: not known
	err     error     // what could not be read

	compares bool // monitors and workers were to be read
	complete bool // monitors were read, so that the two can be compared
	active   map[monitor.ID]monitor.Monitor
	workers  map[monitor.ID]Worker
	listErr  error // why the launcher cannot list workers; if set, only expired leases prove a loss
}

// observer reads the database and the launcher's list, beside the loop.
type observer struct {
	store        Store
	launcher     Launcher
	commands     *inbox       // gets the reservations that are claimed
	isLeader     *atomic.Bool // whether this gateway was the leader at the last election
	shuttingDown *atomic.Bool
}

// read claims some of the reservations that are due, if it is to and this gateway is the leader. If it
// compares, it also reads monitors and workers. It lists workers first and monitors second. So
// every listed worker that is still needed has its monitor in the later list of active monitors.
func (o *observer) read(ctx context.Context, compares, claims bool) (seen observation) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	seen.compares = compares
	var workers []Worker
	if compares {
		workers, seen.listErr = o.listWorkers(ctx)
	}
	if seen.leader, seen.err = o.store.TryLead(ctx); seen.err != nil {
		o.isLeader.Store(false)
		return seen
	}
	o.isLeader.Store(seen.leader)
	if claims && seen.leader && !o.shuttingDown.Load() {
		seen.claimed, seen.nextDue, seen.err = o.claimDue(ctx)
	}
	if !compares {
		return seen
	}
	active, err := o.store.ListActive(ctx)
	seen.complete = err == nil
	seen.err = errors.Join(seen.err, err, seen.listErr)
	seen.active, seen.workers = map[monitor.ID]monitor.Monitor{}, map[monitor.ID]Worker{}
	for _, m := range active {
		seen.active[m.ID] = m
	}
	for _, w := range workers {
		seen.workers[w.ID] = w
	}
	return seen
}

// listWorkers lists the workers within half of exchangeTimeout. The other half remains
// for the database.
func (o *observer) listWorkers(ctx context.Context) ([]Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout/2)
	defer cancel()
	return o.launcher.Workers(ctx)
}

// claimDue claims some reservations that are due, within a quarter of exchangeTimeout. The rest
// remains for reading the active monitors.
func (o *observer) claimDue(ctx context.Context) (int, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout/4)
	defer cancel()
	claimed, next, err := o.store.ClaimDue(ctx, claimTerm)
	for _, r := range claimed {
		o.commands.add(&task{id: r.ID, kind: promote, generation: r.Generation, handedOver: r.HandedOver})
	}
	return len(claimed), next, err
}
