//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// snapshotInterval is how often the processes are listed.
const snapshotInterval = 200 * time.Millisecond

// reapAfter is how long an orphan must have been a zombie before it is reaped. The goroutine
// that started a child waits for it first.
const reapAfter = 500 * time.Millisecond

// processTracker lists the processes of all environments. All are descendants of this process:
// it is the parent of orphans, which it reaps, as init does on a real machine.
type processTracker struct {
	mu      sync.Mutex
	last    map[string]identity  // by process key; as last seen alive
	zombies map[string]time.Time // by process key; when it was first seen as a zombie
}

func newProcessTracker() (*processTracker, error) {
	return &processTracker{}, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// all lists the processes of all environments now.
func (t *processTracker) all() []process {
	t.mu.Lock()
	defer t.mu.Unlock()
	tree := processTree(os.Getpid())
	last, zombies := map[string]identity{}, map[string]time.Time{}
	byPID := map[int]process{}
	for i := range tree {
		p := &tree[i]
		key := p.key()
		if p.zombie() {
			since, known := t.zombies[key]
			if !known {
				since = time.Now()
			}
			if zombies[key] = since; p.parent == os.Getpid() && time.Since(since) > reapAfter {
				_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
			}
			continue
		}
		p.identity = readIdentity(p.pid)
		// A confined tool runs without the environment's variables. It belongs to its first parent.
		if p.environment == "" {
			parent := byPID[p.parent]
			if before := t.last[key]; before.environment != "" {
				p.identity = before
			} else if parent.role == workerRole || parent.role == gatewayRole {
				p.environment, p.monitor = parent.environment, parent.monitor
			}
		}
		byPID[p.pid], last[key] = *p, p.identity
	}
	t.last, t.zombies = last, zombies
	return tree
}

// snapshot lists the processes of an environment now.
func (t *processTracker) snapshot(environment string) (all []process) {
	for _, p := range t.all() {
		if p.environment == environment {
			all = append(all, p)
		}
	}
	return all
}

// findDuplicates looks for two workers of one generation of a monitor until ctx is done.
func (env *environment) findDuplicates(ctx context.Context) {
	seen := map[string]int{} // by monitor and generation: consecutive snapshots with two workers
	for ctx.Err() == nil {
		workers := map[string][]process{}
		for _, p := range workersOf(env.processes.snapshot(env.tempDir)) {
			key := fmt.Sprintf("%s generation %d", p.monitor, p.generation)
			workers[key] = append(workers[key], p)
		}
		for key, duplicates := range workers {
			if len(duplicates) < 2 {
				seen[key] = 0
			} else if seen[key]++; seen[key] == 2 { // once may be a process between fork and exec
				env.find("two live workers of %s: %v", key, duplicates)
			}
		}
		pause(ctx, snapshotInterval)
	}
}

// workersOf returns the live workers among processes. A child of a worker, which looks like
// one between fork and exec, is none.
func workersOf(processes []process) (workers []process) {
	isWorker := map[int]bool{}
	for _, p := range processes {
		isWorker[p.pid] = p.role == workerRole && !p.zombie()
	}
	for _, p := range processes {
		if isWorker[p.pid] && !isWorker[p.parent] {
			workers = append(workers, p)
		}
	}
	return workers
}
