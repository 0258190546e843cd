//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// descendants lists the processes below this one, parents before children. It is the parent of
// orphans, so they are all of its environment.
func descendants() []system.Process { return system.Below(os.Getpid()) }

// roleOf returns what a process does for the service; empty: nothing.
func roleOf(p system.Process) string {
	runs := func(program string) bool { // or a script that is its first argument
		return slices.ContainsFunc(strings.Fields(p.Command), func(word string) bool { return filepath.Base(word) == program })
	}
	switch {
	case runs("stream-monitor") && strings.HasSuffix(p.Command, " serve"):
		return "gateway"
	case runs("stream-monitor") && strings.HasSuffix(p.Command, " worker"):
		return "worker"
	case runs("ffmpeg"), strings.Contains(p.Command, "segment-decoder"):
		return "decoder"
	case runs("yt-dlp"):
		return "resolver"
	case runs("postgres"), strings.HasPrefix(p.Command, "postgres:"):
		return "database"
	}
	return ""
}

// of finds the processes of a role that work for the fault's monitor: its worker or tools. Inline
// workers are part of the gateway, whose tools may be those of any monitor.
func of(role string) func(*environment, fault) []system.Process {
	return func(env *environment, f fault) (found []system.Process) {
		id := env.monitors[f.monitor].id
		owner := map[int]string{} // the monitor of each worker and of what is below it, by process id
		for _, p := range descendants() {
			switch is := roleOf(p); {
			case is == "worker":
				owner[p.PID] = p.Env("MONITOR_ID")
			case is == "gateway" && env.schedule.runtime == "inline":
				owner[p.PID] = id
			default:
				owner[p.PID] = owner[p.Parent]
			}
			if roleOf(p) == role && owner[p.PID] == id {
				found = append(found, p)
			}
		}
		return found
	}
}

// ofDatabase finds the processes of the database server, the postmaster first.
func ofDatabase(*environment, fault) []system.Process {
	return slices.DeleteFunc(descendants(), func(p system.Process) bool { return roleOf(p) != "database" })
}

// workers lists the worker processes by monitor and generation. A child of a worker, which looks
// like one between fork and exec, is none.
func workers() map[string][]int {
	all, found := map[string][]int{}, map[int]bool{}
	for _, p := range descendants() {
		if found[p.PID] = roleOf(p) == "worker"; found[p.PID] && !found[p.Parent] {
			key := p.Env("MONITOR_ID") + " generation " + p.Env("GENERATION")
			all[key] = append(all[key], p.PID)
		}
	}
	return all
}

// findDuplicates looks for two workers of one generation of a monitor until ctx is done.
func (env *environment) findDuplicates(ctx context.Context) {
	seen := map[string]int{} // how often in a row, by monitor and generation
	for ; ctx.Err() == nil; pause(ctx, 200*time.Millisecond) {
		for key, pids := range workers() {
			if len(pids) < 2 {
				seen[key] = 0
			} else if seen[key]++; seen[key] == 2 { // once may be a process that is about to end
				env.audit.find("two live workers of %s: %v", key, pids)
			}
		}
	}
}

// maxConnections is the most connections to the database that a gateway may have: the pool of 16,
// three listeners, the leader election, and the heartbeats.
const maxConnections = 21

// checkProcesses returns an error unless each monitor has exactly one worker, no tool is an
// orphan, and no connection is left open.
func (env *environment) checkProcesses(ctx context.Context) error {
	for _, p := range descendants() {
		if role := roleOf(p); (role == "decoder" || role == "resolver") && p.Parent == os.Getpid() {
			return fmt.Errorf("an orphan: process %d, %s", p.PID, p.Command)
		}
	}
	current, err := env.texts(ctx, `SELECT id || ' generation ' || generation FROM monitors`)
	if err != nil {
		return err
	}
	running := workers()
	for _, key := range current {
		if env.schedule.runtime == "process" && len(running[key]) != 1 {
			return fmt.Errorf("%s must have exactly one worker, and there are %v", key, running)
		}
		delete(running, key)
	}
	if len(running) > 0 {
		return fmt.Errorf("workers of no current generation run: %v", running)
	}
	return env.none(ctx, fmt.Sprintf(`
		SELECT format('process %%s of PostgreSQL is idle in a transaction', pid) FROM pg_stat_activity
		WHERE application_name = 'stream-monitor' AND state LIKE 'idle in transaction%%' AND state_change < now() - interval '6 s'
		UNION ALL SELECT format('%%s connections to the database', count(*)) FROM pg_stat_activity
		WHERE application_name = 'stream-monitor' HAVING count(*) > %d`, maxConnections*len(env.gateways)))
}

// checkLeftovers finds processes and temporary files that a stopped service has left behind. The
// directory of the tools stays, with their caches. So does an empty file: it holds locks, or its
// process was killed before it removed the name.
func (env *environment) checkLeftovers() {
	if err := system.KillRemaining(descendants()); err != nil {
		env.audit.find("%v", err)
	}
	entries, _ := os.ReadDir(env.tempDir)
	for _, e := range entries {
		info, err := e.Info()
		isEmpty := err == nil && info.Mode().IsRegular() && info.Size() == 0
		if !isEmpty && !strings.HasPrefix(e.Name(), "stream-monitor-tools-") {
			env.audit.find("a temporary file was left behind: %s", e.Name())
		}
	}
}
