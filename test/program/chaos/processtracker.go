//go:build linux

package main

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// censusEvery is how often the processes are counted.
const snapshotInterval = 100 * time.Millisecond

// reapAfter is in how many censuses a process must have been dead to be nobody's.
const reapAfterSnapshots = 5

// census counts the processes of all sites. It is the reaper of those whose
// parents have died, as init is on a real machine.
type processTracker struct {
	mu           sync.Mutex
	latest       []process
	stable       map[string]identity  // of those that stay what they are
	lastIdentity map[string]identity  // when they were last seen alive
	firstSeen    map[string]time.Time // when a process was first counted
	zombieCounts map[string]int       // in how many censuses a process was seen that nobody has waited for
	subscribers  map[string]func(time.Time, []process)
	stop         chan struct{}
	done         chan struct{}
}

func newProcessTracker() (*processTracker, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	t := &processTracker{
		stable: map[string]identity{}, lastIdentity: map[string]identity{}, firstSeen: map[string]time.Time{}, subscribers: map[string]func(time.Time, []process){},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go t.run()
	return t, nil
}

func (t *processTracker) close() {
	close(t.stop)
	<-t.done
}

func (t *processTracker) run() {
	defer close(t.done)
	tick := time.NewTicker(snapshotInterval)
	defer tick.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-tick.C:
			t.refresh()
			t.notify()
		}
	}
}

// count takes one census.
func (t *processTracker) refresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	all := listProcesses(t.stable)
	known, was, born, dead := map[string]identity{}, map[string]identity{}, map[string]time.Time{}, map[string]int{}
	t.inheritEnvironments(all)
	for _, p := range all {
		name := p.key()
		first, met := t.firstSeen[name]
		if !met {
			first = now
		}
		born[name] = first
		if now.Sub(first) > settleTime && !p.zombie() {
			known[name] = p.identity
		}
		was[name] = p.identity
		if p.zombie() {
			was[name] = t.lastIdentity[name]
		}
		// What this program has started itself is waited for by who started it.
		if p.zombie() && p.parent == unix.Getpid() {
			dead[name] = t.zombieCounts[name] + 1
			if dead[name] > reapAfterSnapshots {
				_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
			}
		}
	}
	t.stable, t.lastIdentity, t.firstSeen, t.zombieCounts, t.latest = known, was, born, dead, all
}

// adopt finds out whose the processes are that have been given an environment
// of their own: those of their parents, as long as these live.
func (t *processTracker) inheritEnvironments(all []process) {
	at := map[int]*process{}
	for i := range all {
		at[all[i].pid] = &all[i]
	}
	for i := range all {
		p := &all[i]
		if p.environment != "" || p.zombie() {
			continue
		}
		if was := t.lastIdentity[p.key()]; was.environment != "" {
			p.identity = was
			continue
		}
		if parent := at[p.parent]; parent != nil && (parent.role == workerRole || parent.role == gatewayRole) {
			p.environment, p.monitor = parent.environment, parent.monitor
		}
	}
}

// tell shows the sites the latest census.
func (t *processTracker) notify() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for _, watch := range t.subscribers {
		watch(now, t.latest)
	}
}

// watch has a site told of every census, until the function returned is called.
func (t *processTracker) subscribe(site string, tell func(time.Time, []process)) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subscribers[site] = tell
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.subscribers, site)
	}
}

// fresh takes a census of the processes of a site now.
func (t *processTracker) snapshot(site string) (all []process) {
	t.refresh()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.latest {
		if p.environment == site {
			all = append(all, p)
		}
	}
	return all
}

// everybody is the latest census.
func (t *processTracker) latestSnapshot() []process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.latest
}

// staff is what the census has found out about a site's workers.
type workerHistory struct {
	duplicates map[string]int  // by monitor and generation: censuses in a row with two of them
	findings   map[string]bool // what was wrong
	exits      []workerExit
	running    map[string]process
}

// death is the end of a worker.
type workerExit struct {
	monitor    string
	generation int
	at         time.Time
}

func newWorkerHistory() *workerHistory {
	return &workerHistory{duplicates: map[string]int{}, findings: map[string]bool{}, running: map[string]process{}}
}

// seen takes in a census of a site.
func (h *workerHistory) observe(now time.Time, site string, all []process) {
	workers := map[string][]process{}
	alive := map[string]process{}
	role := map[int]bool{}
	for _, p := range all {
		if p.environment == site && p.role == workerRole && !p.zombie() {
			role[p.pid] = true
		}
	}
	for _, p := range all {
		// What a worker has forked, and does not run yet, looks like a worker.
		if p.environment != site || p.role != workerRole || p.zombie() || role[p.parent] {
			continue
		}
		key := fmt.Sprintf("%s generation %d", p.monitor, p.generation)
		workers[key] = append(workers[key], p)
		alive[p.key()] = p
	}
	for name, p := range h.running {
		if _, still := alive[name]; !still {
			h.exits = append(h.exits, workerExit{p.monitor, p.generation, now})
		}
	}
	h.running = alive
	for key, pair := range workers {
		if len(pair) < 2 {
			delete(h.duplicates, key)
			continue
		}
		h.duplicates[key]++
		if h.duplicates[key] == 2 { // not just one being replaced by itself
			h.findings[fmt.Sprintf("two live workers of %s: %v", key, pair)] = true
		}
	}
}
