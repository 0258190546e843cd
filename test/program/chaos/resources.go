//go:build linux

package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// The most that a gateway or worker may hold when no fault is active.
const (
	maxConnections  = 21  // the pool of 16, three listeners, the leader election, and the heartbeats
	maxGatewayFiles = 120 // file descriptors; 30 to 60 were measured, 100 on a machine that lags behind
	maxWorkerFiles  = 40  // file descriptors; 10 to 20 were measured
)

// resourceTimeout is how long leftovers of the faults may take to be cleaned
// up.
const resourceTimeout = 5 * time.Second

// checkResources checks the recovered service: one worker for each monitor, no
// orphans, no leaked descriptors or connections.
func (env *environment) checkResources(ctx context.Context) (findings []string) {
	generations := map[string]int{}
	if err := env.eachRow(ctx, `SELECT id, generation FROM monitors`, func(rows *sql.Rows) error {
		var id string
		var generation int
		err := rows.Scan(&id, &generation)
		generations[id] = generation
		return err
	}); err != nil {
		return []string{"read the generations: " + err.Error()}
	}
	deadline := time.Now().Add(resourceTimeout)
	for {
		findings = append(env.checkProcesses(generations), env.checkConnections(ctx)...)
		if len(findings) == 0 || time.Now().After(deadline) {
			return findings
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// checkProcesses compares the running processes with the expected ones.
func (env *environment) checkProcesses(generations map[string]int) (findings []string) {
	processes := env.processes.snapshot(env.tempDir)
	pids := map[int]bool{}
	for _, p := range processes {
		pids[p.pid] = true
	}
	for _, p := range env.processes.all() {
		if p.zombie() && pids[p.parent] {
			findings = append(findings, fmt.Sprintf("a zombie: %s", p))
		}
	}
	for _, p := range processes {
		if p.role != gatewayRole && p.role != workerRole && !pids[p.parent] {
			findings = append(findings, fmt.Sprintf("an orphan: %s", p))
		}
		limit := map[role]int{gatewayRole: maxGatewayFiles, workerRole: maxWorkerFiles}[p.role]
		if files, _ := os.ReadDir("/proc/" + strconv.Itoa(p.pid) + "/fd"); limit > 0 && len(files) > limit {
			findings = append(findings, fmt.Sprintf("%s has %d open file descriptors, at most %d are expected", p, len(files), limit))
		}
	}
	for i, m := range env.monitors {
		running := slices.DeleteFunc(workersOf(processes), func(p process) bool { return p.monitor != m.id })
		if env.schedule.runtime == "process" && (len(running) != 1 || running[0].generation != generations[m.id]) {
			findings = append(findings, fmt.Sprintf("monitor %d, generation %d, must have exactly one worker after recovery, and has %v", i, generations[m.id], running))
		}
	}
	return findings
}

// checkConnections counts the gateways' connections to the database.
func (env *environment) checkConnections(ctx context.Context) (findings []string) {
	err := env.eachRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE state LIKE 'idle in transaction%' AND state_change < now() - interval '6 s')
		FROM pg_stat_activity WHERE application_name = 'stream-monitor'`, func(rows *sql.Rows) error {
		var all, stuck int
		err := rows.Scan(&all, &stuck)
		if limit := maxConnections * len(env.gateways); all > limit {
			findings = append(findings, fmt.Sprintf("%d gateways have %d connections to the database, at most %d are expected", len(env.gateways), all, limit))
		}
		if stuck > 0 {
			findings = append(findings, fmt.Sprintf("%d connections are idle in a transaction", stuck))
		}
		return err
	})
	if err != nil {
		findings = append(findings, "count the connections: "+err.Error())
	}
	return findings
}

// temporaryFiles lists what is in the directory of temporary files and in that of the tools. The
// latter stays, with the caches of yt-dlp and deno. So does an empty file: it holds locks, or
// its process was killed before it removed the name.
func (env *environment) temporaryFiles() (names []string) {
	entries, _ := os.ReadDir(env.tempDir)
	for _, e := range entries {
		info, err := e.Info()
		isEmpty := err == nil && info.Mode().IsRegular() && info.Size() == 0
		isTools, _ := filepath.Match("stream-monitor-tools-*", e.Name())
		switch {
		case isTools:
			files, _ := os.ReadDir(filepath.Join(env.tempDir, e.Name()))
			for _, f := range files {
				if f.Name() != "yt-dlp" && f.Name() != "deno" {
					names = append(names, filepath.Join(e.Name(), f.Name()))
				}
			}
		case !isEmpty:
			names = append(names, e.Name())
		}
	}
	return names
}

// checkLeftovers finds processes, temporary files and database servers that a stopped service
// has left behind.
func (env *environment) checkLeftovers() {
	left := env.processes.snapshot(env.tempDir)
	for deadline := time.Now().Add(3 * time.Second); len(left) > 0 && time.Now().Before(deadline); left = env.processes.snapshot(env.tempDir) {
		time.Sleep(50 * time.Millisecond)
	}
	for _, p := range processTree(os.Getpid()) {
		commandLine, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
		if bytes.Contains(commandLine, []byte(env.dataDir(0)+"/postgres")) {
			left = append(left, p) // a database server of the gateway
		}
	}
	for _, p := range left {
		env.find("%s was left behind", p)
		p.signal(killSignal)
	}
	for _, name := range env.temporaryFiles() {
		env.find("a temporary file was left behind: %s", name)
	}
}
