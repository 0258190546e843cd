//go:build linux

package main

import (
	"fmt"
	"time"
)

// staff is what the census has found out about a site's workers.
type staff struct {
	pairs  map[string]int  // by monitor and generation: censuses in a row with two of them
	faults map[string]bool // what was wrong
	deaths []death
	alive  map[string]process
}

// death is the end of a worker.
type death struct {
	monitor    string
	generation int
	at         time.Time
}

func newStaff() *staff {
	return &staff{pairs: map[string]int{}, faults: map[string]bool{}, alive: map[string]process{}}
}

// seen takes in a census of a site.
func (s *staff) seen(now time.Time, site string, all []process) {
	workers := map[string][]process{}
	alive := map[string]process{}
	role := map[int]bool{}
	for _, p := range all {
		if p.site == site && p.role == workerRole && !p.zombie() {
			role[p.pid] = true
		}
	}
	for _, p := range all {
		// What a worker has forked, and does not run yet, looks like a worker.
		if p.site != site || p.role != workerRole || p.zombie() || role[p.parent] {
			continue
		}
		key := fmt.Sprintf("%s generation %d", p.monitor, p.generation)
		workers[key] = append(workers[key], p)
		alive[p.name()] = p
	}
	for name, p := range s.alive {
		if _, still := alive[name]; !still {
			s.deaths = append(s.deaths, death{p.monitor, p.generation, now})
		}
	}
	s.alive = alive
	for key, pair := range workers {
		if len(pair) < 2 {
			delete(s.pairs, key)
			continue
		}
		s.pairs[key]++
		if s.pairs[key] == 2 { // not just one being replaced by itself
			s.faults[fmt.Sprintf("two live workers of %s: %v", key, pair)] = true
		}
	}
}
