//go:build linux

package main

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// snapshotInterval is how often the processes are listed.
const snapshotInterval = 100 * time.Millisecond

// reapAfterSnapshots is in how many snapshots an orphan must have been a zombie
// before it is reaped.
const reapAfterSnapshots = 5

// processTracker takes snapshots of the processes of all environments. It reaps
// orphans, as init does on a real machine.
type processTracker struct {
	mu           sync.Mutex
	latest       []process
	stable       map[string]identity  // by process key; identities older than settleTime
	lastIdentity map[string]identity  // by process key; as last seen alive
	firstSeen    map[string]time.Time // by process key
	zombieCounts map[string]int       // by process key; snapshots in which the process was a zombie
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

// refresh takes a snapshot.
func (t *processTracker) refresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	processes := listProcesses(t.stable)
	stable, lastIdentity, firstSeen, zombieCounts := map[string]identity{}, map[string]identity{}, map[string]time.Time{}, map[string]int{}
	t.inheritEnvironments(processes)
	for _, p := range processes {
		key := p.key()
		first, known := t.firstSeen[key]
		if !known {
			first = now
		}
		firstSeen[key] = first
		if now.Sub(first) > settleTime && !p.zombie() {
			stable[key] = p.identity
		}
		lastIdentity[key] = p.identity
		if p.zombie() {
			lastIdentity[key] = t.lastIdentity[key]
		}
		// The goroutine that started a child waits for it first.
		if p.zombie() && p.parent == unix.Getpid() {
			zombieCounts[key] = t.zombieCounts[key] + 1
			if zombieCounts[key] > reapAfterSnapshots {
				_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
			}
		}
	}
	t.stable, t.lastIdentity, t.firstSeen, t.zombieCounts, t.latest = stable, lastIdentity, firstSeen, zombieCounts, processes
}

// inheritEnvironments assigns processes that run without the environment's
// variables to the environment of their parents, while these live.
func (t *processTracker) inheritEnvironments(processes []process) {
	byPID := map[int]*process{}
	for i := range processes {
		byPID[processes[i].pid] = &processes[i]
	}
	for i := range processes {
		p := &processes[i]
		if p.environment != "" || p.zombie() {
			continue
		}
		if last := t.lastIdentity[p.key()]; last.environment != "" {
			p.identity = last
			continue
		}
		if parent := byPID[p.parent]; parent != nil && (parent.role == workerRole || parent.role == gatewayRole) {
			p.environment, p.monitor = parent.environment, parent.monitor
		}
	}
}

// notify passes the latest snapshot to the subscribers.
func (t *processTracker) notify() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for _, watch := range t.subscribers {
		watch(now, t.latest)
	}
}

// subscribe has observe called with every snapshot until unsubscribe is called.
func (t *processTracker) subscribe(environment string, observe func(time.Time, []process)) (unsubscribe func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subscribers[environment] = observe
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.subscribers, environment)
	}
}

// snapshot lists the processes of an environment now.
func (t *processTracker) snapshot(environment string) (all []process) {
	t.refresh()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.latest {
		if p.environment == environment {
			all = append(all, p)
		}
	}
	return all
}

// latestSnapshot lists the processes of all environments as of the last
// snapshot.
func (t *processTracker) latestSnapshot() []process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.latest
}

// workerHistory is what the snapshots of an environment show of its workers.
type workerHistory struct {
	duplicates map[string]int  // by monitor and generation: consecutive snapshots with two workers
	findings   map[string]bool // violations
	exits      []workerExit
	running    map[string]process
}

// workerExit is the end of a worker process.
type workerExit struct {
	monitor    string
	generation int
	at         time.Time
}

func newWorkerHistory() *workerHistory {
	return &workerHistory{duplicates: map[string]int{}, findings: map[string]bool{}, running: map[string]process{}}
}

// observe evaluates a snapshot.
func (h *workerHistory) observe(now time.Time, environment string, processes []process) {
	workers := map[string][]process{}
	running := map[string]process{}
	isWorker := map[int]bool{}
	for _, p := range processes {
		if p.environment == environment && p.role == workerRole && !p.zombie() {
			isWorker[p.pid] = true
		}
	}
	for _, p := range processes {
		// A child of a worker looks like a worker between fork and exec.
		if p.environment != environment || p.role != workerRole || p.zombie() || isWorker[p.parent] {
			continue
		}
		key := fmt.Sprintf("%s generation %d", p.monitor, p.generation)
		workers[key] = append(workers[key], p)
		running[p.key()] = p
	}
	for key, p := range h.running {
		if _, found := running[key]; !found {
			h.exits = append(h.exits, workerExit{p.monitor, p.generation, now})
		}
	}
	h.running = running
	for key, duplicates := range workers {
		if len(duplicates) < 2 {
			delete(h.duplicates, key)
			continue
		}
		h.duplicates[key]++
		if h.duplicates[key] == 2 { // once may be a process between fork and exec
			h.findings[fmt.Sprintf("two live workers of %s: %v", key, duplicates)] = true
		}
	}
}
