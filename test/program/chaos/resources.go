//go:build linux

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// What a gateway may hold when all is calm.
const (
	maxConnections  = 18 // the pool of 16, the one that listens, and the one that it is elected with
	maxGatewayFiles = 90 // descriptors; measured are 30 to 60
	maxWorkerFiles  = 40 // likewise of a worker, 10 to 20
)

// inspectLimit is how long what is being tidied up may take.
const resourceTimeout = 5 * time.Second

// inspect looks at the service in its calm: one worker for each monitor, and
// nothing that leaks.
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

// inspectProcesses holds the processes against what should run.
func (env *environment) checkProcesses(generations map[string]int) (findings []string) {
	family := env.processes.snapshot(env.tempDir)
	ours := map[int]bool{}
	workers := map[string][]process{}
	for _, p := range family {
		ours[p.pid] = true
		if p.role == workerRole && !p.zombie() {
			workers[p.monitor] = append(workers[p.monitor], p)
		}
	}
	for _, p := range env.processes.latestSnapshot() {
		if p.zombie() && ours[p.parent] {
			findings = append(findings, fmt.Sprintf("a zombie: %s", p))
		}
	}
	for _, p := range family {
		if p.role != gatewayRole && p.role != workerRole && !p.zombie() && !ours[p.parent] {
			findings = append(findings, fmt.Sprintf("an orphan: %s", p))
		}
		limit := map[role]int{gatewayRole: maxGatewayFiles, workerRole: maxWorkerFiles}[p.role]
		if n := descriptors(p.pid); limit > 0 && n > limit {
			findings = append(findings, fmt.Sprintf("%s holds %d descriptors, expected are at most %d", p, n, limit))
		}
	}
	if env.schedule.runtime != "process" {
		return findings
	}
	for i, m := range env.monitors {
		crew := workers[m.id]
		// What a worker has just forked looks like one.
		var own []process
		for _, p := range crew {
			if !ours[p.parent] || env.roleOf(family, p.parent) != workerRole {
				own = append(own, p)
			}
		}
		if len(own) != 1 || own[0].generation != generations[m.id] {
			findings = append(findings, fmt.Sprintf("monitor %d, generation %d, has these workers in its calm: %v", i, generations[m.id], own))
		}
	}
	return findings
}

func (env *environment) roleOf(family []process, pid int) role {
	for _, p := range family {
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

// inspectConnections counts the gateway's connections as the database sees them.
func (env *environment) checkConnections(ctx context.Context) (findings []string) {
	err := env.withDatabase(ctx, func(db *sql.DB) error {
		var all, stuck int
		err := db.QueryRowContext(ctx, `
			SELECT count(*), count(*) FILTER (WHERE state LIKE 'idle in transaction%' AND state_change < now() - interval '3 s')
			FROM pg_stat_activity WHERE application_name = 'stream-monitor'`).Scan(&all, &stuck)
		if all > maxConnections {
			findings = append(findings, fmt.Sprintf("the gateway has %d connections to the database, expected are at most %d", all, maxConnections))
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

// records lists what is left in the run directory of a service that has been
// stopped: records of workers, of which none runs.
func (env *environment) leftWorkerRecords() (left []string) {
	err := filepath.WalkDir(filepath.Join(env.dataDir(), "run"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name := d.Name(); name != "lock" && name != "id" {
			left = append(left, "a worker's record was left behind: "+name)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		left = append(left, "the run directory: "+err.Error())
	}
	return left
}

// servers lists the database servers that a gateway has left behind.
func (env *environment) leftDatabaseServers() (left []string) {
	for _, p := range listProcesses(nil) {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
		if bytes.Contains(line, []byte(env.dataDir()+"/postgres")) {
			left = append(left, fmt.Sprintf("the gateway's database server was left behind: process %d", p.pid))
			p.signal(killSignal)
		}
	}
	return left
}

// left tells what is left of a service that has been stopped.
func (env *environment) checkLeftovers() error {
	var problems []string
	deadline := time.Now().Add(3 * time.Second)
	for {
		family := env.processes.snapshot(env.tempDir)
		if len(family) == 0 {
			break
		}
		if time.Now().After(deadline) {
			for _, p := range family {
				problems = append(problems, fmt.Sprintf("%s was left behind", p))
				p.signal(killSignal)
			}
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	problems = append(problems, env.leftDatabaseServers()...)
	entries, _ := os.ReadDir(env.tempDir)
	for _, e := range entries {
		problems = append(problems, "a temporary file was left behind: "+e.Name())
	}
	problems = append(problems, env.leftWorkerRecords()...)
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "\n"))
}
