//go:build linux

package main

import (
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// censusEvery is how often the processes are counted.
const censusEvery = 100 * time.Millisecond

// reapAfter is in how many censuses a process must have been dead to be nobody's.
const reapAfter = 5

// census counts the processes of all sites. It is the reaper of those whose
// parents have died, as init is on a real machine.
type census struct {
	mu      sync.Mutex
	latest  []process
	known   map[string]identity  // of those that stay what they are
	was     map[string]identity  // when they were last seen alive
	born    map[string]time.Time // when a process was first counted
	dead    map[string]int       // in how many censuses a process was seen that nobody has waited for
	watches map[string]func(time.Time, []process)
	stop    chan struct{}
	done    chan struct{}
}

func newCensus() (*census, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	c := &census{
		known: map[string]identity{}, was: map[string]identity{}, born: map[string]time.Time{}, watches: map[string]func(time.Time, []process){},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go c.run()
	return c, nil
}

func (c *census) close() {
	close(c.stop)
	<-c.done
}

func (c *census) run() {
	defer close(c.done)
	tick := time.NewTicker(censusEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
			c.count()
			c.tell()
		}
	}
}

// count takes one census.
func (c *census) count() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	all := running(c.known)
	known, was, born, dead := map[string]identity{}, map[string]identity{}, map[string]time.Time{}, map[string]int{}
	c.adopt(all)
	for _, p := range all {
		name := p.name()
		first, met := c.born[name]
		if !met {
			first = now
		}
		born[name] = first
		if now.Sub(first) > settled && !p.zombie() {
			known[name] = p.identity
		}
		was[name] = p.identity
		if p.zombie() {
			was[name] = c.was[name]
		}
		// What this program has started itself is waited for by who started it.
		if p.zombie() && p.parent == unix.Getpid() {
			dead[name] = c.dead[name] + 1
			if dead[name] > reapAfter {
				_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
			}
		}
	}
	c.known, c.was, c.born, c.dead, c.latest = known, was, born, dead, all
}

// adopt finds out whose the processes are that have been given an environment
// of their own: those of their parents, as long as these live.
func (c *census) adopt(all []process) {
	at := map[int]*process{}
	for i := range all {
		at[all[i].pid] = &all[i]
	}
	for i := range all {
		p := &all[i]
		if p.site != "" || p.zombie() {
			continue
		}
		if was := c.was[p.name()]; was.site != "" {
			p.identity = was
			continue
		}
		if parent := at[p.parent]; parent != nil && (parent.role == workerRole || parent.role == gatewayRole) {
			p.site, p.monitor = parent.site, parent.monitor
		}
	}
}

// tell shows the sites the latest census.
func (c *census) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, watch := range c.watches {
		watch(now, c.latest)
	}
}

// watch has a site told of every census, until the function returned is called.
func (c *census) watch(site string, tell func(time.Time, []process)) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches[site] = tell
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watches, site)
	}
}

// fresh takes a census of the processes of a site now.
func (c *census) fresh(site string) (all []process) {
	c.count()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.latest {
		if p.site == site {
			all = append(all, p)
		}
	}
	return all
}

// everybody is the latest census.
func (c *census) everybody() []process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest
}
