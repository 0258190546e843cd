//go:build linux

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	if err := env.withDatabase(ctx, func(db *sql.DB) error { return readGenerations(ctx, db, generations) }); err != nil {
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

func readGenerations(ctx context.Context, db *sql.DB, into map[string]int) error {
	rows, err := db.QueryContext(ctx, `SELECT id, generation FROM monitors`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var generation int
		if err := rows.Scan(&id, &generation); err != nil {
			return err
		}
		into[id] = generation
	}
	return rows.Err()
}

// checkProcesses compares the running processes with the expected ones.
func (env *environment) checkProcesses(generations map[string]int) (findings []string) {
	processes := env.processes.snapshot(env.tempDir)
	pids := map[int]bool{}
	workers := map[string][]process{}
	for _, p := range processes {
		pids[p.pid] = true
		if p.role == workerRole && !p.zombie() {
			workers[p.monitor] = append(workers[p.monitor], p)
		}
	}
	for _, p := range env.processes.latestSnapshot() {
		if p.zombie() && pids[p.parent] {
			findings = append(findings, fmt.Sprintf("a zombie: %s", p))
		}
	}
	for _, p := range processes {
		if p.role != gatewayRole && p.role != workerRole && !p.zombie() && !pids[p.parent] {
			findings = append(findings, fmt.Sprintf("an orphan: %s", p))
		}
		limit := map[role]int{gatewayRole: maxGatewayFiles, workerRole: maxWorkerFiles}[p.role]
		if n := descriptors(p.pid); limit > 0 && n > limit {
			findings = append(findings, fmt.Sprintf("%s has %d open file descriptors, at most %d are expected", p, n, limit))
		}
	}
	if env.schedule.runtime != "process" {
		return findings
	}
	for i, m := range env.monitors {
		candidates := workers[m.id]
		// A child of a worker looks like a worker between fork and exec.
		var running []process
		for _, p := range candidates {
			if !pids[p.parent] || env.roleOf(processes, p.parent) != workerRole {
				running = append(running, p)
			}
		}
		if len(running) != 1 || running[0].generation != generations[m.id] {
			findings = append(findings, fmt.Sprintf("monitor %d, generation %d, must have exactly one worker after recovery, and has %v", i, generations[m.id], running))
		}
	}
	return findings
}

func (env *environment) roleOf(processes []process, pid int) role {
	for _, p := range processes {
		if p.pid == pid {
			return p.role
		}
	}
	return ""
}

func descriptors(pid int) int {
	entries, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	return len(entries)
}

// checkConnections counts the gateways' connections to the database.
func (env *environment) checkConnections(ctx context.Context) (findings []string) {
	err := env.withDatabase(ctx, func(db *sql.DB) error {
		var all, stuck int
		err := db.QueryRowContext(ctx, `
			SELECT count(*), count(*) FILTER (WHERE state LIKE 'idle in transaction%' AND state_change < now() - interval '6 s')
			FROM pg_stat_activity WHERE application_name = 'stream-monitor'`).Scan(&all, &stuck)
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

// leftDatabaseServers lists the database servers that a gateway has left
// running.
func (env *environment) leftDatabaseServers() (left []string) {
	for _, p := range listProcesses(nil) {
		commandLine, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
		if bytes.Contains(commandLine, []byte(env.dataDir(0)+"/postgres")) {
			left = append(left, fmt.Sprintf("the gateway's database server was left behind: process %d", p.pid))
			p.signal(killSignal)
		}
	}
	return left
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

// checkLeftovers returns an error that lists the processes, temporary files
// and database servers that a stopped service has left behind.
func (env *environment) checkLeftovers() error {
	var problems []string
	deadline := time.Now().Add(3 * time.Second)
	for {
		processes := env.processes.snapshot(env.tempDir)
		if len(processes) == 0 {
			break
		}
		if time.Now().After(deadline) {
			for _, p := range processes {
				problems = append(problems, fmt.Sprintf("%s was left behind", p))
				p.signal(killSignal)
			}
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	problems = append(problems, env.leftDatabaseServers()...)
	for _, name := range env.temporaryFiles() {
		problems = append(problems, "a temporary file was left behind: "+name)
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "\n"))
}
