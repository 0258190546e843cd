//go:build linux

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// What a gateway may hold when all is calm.
const (
	mostConnections = 18 // the pool of 16, the one that listens, and the one that it is elected with
	mostFiles       = 90 // descriptors; measured are 30 to 60
	mostWorkerFiles = 40 // likewise of a worker, 10 to 20
)

// inspectLimit is how long what is being tidied up may take.
const inspectLimit = 5 * time.Second

// inspect looks at the service in its calm: one worker for each monitor, and
// nothing that leaks.
func (s *site) inspect(ctx context.Context) (findings []string) {
	generations := map[string]int{}
	if err := s.ask(ctx, func(db *sql.DB) error { return readGenerations(ctx, db, generations) }); err != nil {
		return []string{"read the generations: " + err.Error()}
	}
	deadline := time.Now().Add(inspectLimit)
	for {
		findings = append(s.inspectProcesses(generations), s.inspectConnections(ctx)...)
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
func (s *site) inspectProcesses(generations map[string]int) (findings []string) {
	family := s.census.fresh(s.tmp)
	ours := map[int]bool{}
	workers := map[string][]process{}
	for _, p := range family {
		ours[p.pid] = true
		if p.role == workerRole && !p.zombie() {
			workers[p.monitor] = append(workers[p.monitor], p)
		}
	}
	for _, p := range s.census.everybody() {
		if p.zombie() && ours[p.parent] {
			findings = append(findings, fmt.Sprintf("a zombie: %s", p))
		}
	}
	for _, p := range family {
		if p.role != gatewayRole && p.role != workerRole && !p.zombie() && !ours[p.parent] {
			findings = append(findings, fmt.Sprintf("an orphan: %s", p))
		}
		limit := map[role]int{gatewayRole: mostFiles, workerRole: mostWorkerFiles}[p.role]
		if n := descriptors(p.pid); limit > 0 && n > limit {
			findings = append(findings, fmt.Sprintf("%s holds %d descriptors, expected are at most %d", p, n, limit))
		}
	}
	if s.plan.runtime != "process" {
		return findings
	}
	for i, m := range s.monitors {
		crew := workers[m.id]
		// What a worker has just forked looks like one.
		var own []process
		for _, p := range crew {
			if !ours[p.parent] || s.roleOf(family, p.parent) != workerRole {
				own = append(own, p)
			}
		}
		if len(own) != 1 || own[0].generation != generations[m.id] {
			findings = append(findings, fmt.Sprintf("monitor %d, generation %d, has these workers in its calm: %v", i, generations[m.id], own))
		}
	}
	return findings
}

func (s *site) roleOf(family []process, pid int) role {
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
func (s *site) inspectConnections(ctx context.Context) (findings []string) {
	err := s.ask(ctx, func(db *sql.DB) error {
		var all, stuck int
		err := db.QueryRowContext(ctx, `
			SELECT count(*), count(*) FILTER (WHERE state LIKE 'idle in transaction%' AND state_change < now() - interval '3 s')
			FROM pg_stat_activity WHERE application_name = 'stream-monitor'`).Scan(&all, &stuck)
		if all > mostConnections {
			findings = append(findings, fmt.Sprintf("the gateway has %d connections to the database, expected are at most %d", all, mostConnections))
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
func (s *site) records() (left []string) {
	err := filepath.WalkDir(filepath.Join(s.data(), "run"), func(path string, d fs.DirEntry, err error) error {
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
func (s *site) servers() (left []string) {
	for _, p := range running(nil) {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
		if bytes.Contains(line, []byte(s.data()+"/postgres")) {
			left = append(left, fmt.Sprintf("the gateway's database server was left behind: process %d", p.pid))
			p.signal(killSignal)
		}
	}
	return left
}

// fetch is a segment that a worker has got.
type fetch struct {
	at       time.Time
	from, to time.Time // of the media
}

var sequenceInPath = regexp.MustCompile(`/sq/([0-9]+)/`)

// fetches lists the segments that the workers of a monitor have asked for.
func (s *site) fetches(m *watched) (all []fetch) {
	for _, r := range s.tube.Requests() {
		if r.Class != youtube.Segment || r.Video != m.video {
			continue
		}
		if n := sequenceInPath.FindStringSubmatch(r.Path); n != nil {
			sequence, _ := strconv.Atoi(n[1])
			from := m.stream.Began().Add(time.Duration(sequence) * m.stream.SegmentDuration())
			all = append(all, fetch{r.At, from, from.Add(m.stream.SegmentDuration())})
		}
	}
	return all
}

// sawAfter tells whether media of after an instant have been looked at.
func (s *site) sawAfter(m *watched, instant time.Time) bool {
	for _, f := range s.fetches(m) {
		if !f.from.Before(instant) && time.Since(f.at) > time.Second {
			return true
		}
	}
	return false
}

// polls is what a monitor's answers have said over time.
type polls struct {
	last      map[string]float64
	backwards []string
}

// pollEvery is how often each monitor is read.
const pollEvery = 400 * time.Millisecond

// poll reads a monitor and sees to it that its statistics never go backwards.
func (s *site) poll(ctx context.Context, m *watched) {
	for ctx.Err() == nil {
		s.look(ctx, m)
		pause(ctx, pollEvery)
	}
}

// look reads a monitor once.
func (s *site) look(ctx context.Context, m *watched) {
	a, err := s.call(ctx, http.MethodGet, "/api/v1/monitors/"+m.id, nil)
	if err != nil || a.Status != http.StatusOK {
		return
	}
	statistics, _ := a.Body["statistics"].(map[string]any)
	for name, value := range statistics {
		n, _ := value.(float64)
		if n < m.polls.last[name] {
			m.polls.backwards = append(m.polls.backwards, fmt.Sprintf("%s went from %v to %v", name, m.polls.last[name], n))
		}
		m.polls.last[name] = n
	}
}
