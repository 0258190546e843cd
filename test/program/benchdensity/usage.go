package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// role says what a process does.
type role int

const (
	product  role = iota + 1 // the gateway, or a worker process
	analyser                 // ffmpeg, or what takes its place
	resolver                 // yt-dlp, streamlink, and what they start
)

// roleOf returns the role of a process, 0 if it does not descend from the gateway. The children of a
// tool belong to it. A process that has not executed its program yet counts as the product.
func (m *run) roleOf(all map[int]system.Process, pid int) role {
	gateway := m.gateway.PID()
	p, known := all[pid]
	switch {
	case pid == gateway:
		return product
	case !known:
		return 0
	}
	words := append(strings.Fields(p.Command), "", "")
	switch of := m.roleOf(all, p.Parent); {
	case of != product || p.Command == all[gateway].Command || words[1] == "worker":
		return of
	case strings.HasPrefix(filepath.Base(words[0]), "python"):
		return resolver
	}
	return analyser
}

// usage is CPU time until an instant.
type usage struct{ product, analyser, resolver, postgres, program time.Duration }

// usage returns the CPU time that was used until now. Tools that have ended count as analysers, so
// that with -runtime process the questions to yt-dlp do.
func (m *run) usage() (u usage) {
	all := system.Processes()
	for pid, p := range all {
		switch m.roleOf(all, pid) {
		case product:
			u.product += p.CPU
			u.analyser += p.Waited
		case analyser:
			u.analyser += p.CPU + p.Waited
		case resolver:
			u.resolver += p.CPU + p.Waited
		}
	}
	u.postgres, u.program = m.db.CPU(all), bench.OwnCPU()
	return u
}

// parts is CPU time by part, in seconds for each of something.
type parts struct {
	Gateway, Analyser, Resolver, PostgreSQL, All float64

	Program float64 // and its media server; not part of the cost
}

// partsOf divides what was used between two instants by a number.
func partsOf(before, after usage, by float64) parts {
	per := func(from, to time.Duration) float64 { return (to - from).Seconds() / by }
	p := parts{
		Gateway: per(before.product, after.product), Analyser: per(before.analyser, after.analyser), Resolver: per(before.resolver, after.resolver),
		PostgreSQL: per(before.postgres, after.postgres), Program: per(before.program, after.program),
	}
	p.All = p.Gateway + p.Analyser + p.Resolver + p.PostgreSQL
	return p
}

// snapshot is what was used until an instant.
type snapshot struct {
	usage

	at           time.Time
	machine      time.Duration // CPU time of all processes of this machine
	transactions int64         // of the database
}

// look returns what was used until now.
func (m *run) look(ctx context.Context) (s snapshot, err error) {
	s = snapshot{usage: m.usage(), at: time.Now(), machine: machineCPU()}
	err = m.db.QueryRowContext(ctx, `
		SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`).Scan(&s.transactions)
	return s, err
}

// describe sets what was used between two looks.
func (r *result) describe(before, after snapshot) {
	took := after.at.Sub(before.at)
	r.DurationSec = took.Seconds()
	used := partsOf(before.usage, after.usage, r.DurationSec)
	r.CPUSecPerStreamHour = partsOf(before.usage, after.usage, float64(r.Streams)*took.Hours())
	r.TransactionsPerSec = float64(after.transactions-before.transactions) / r.DurationSec
	r.Cores, r.OtherCores = used.All, max(0, (after.machine-before.machine).Seconds()/r.DurationSec-used.All-used.Program)
}

// machineCPU returns the CPU time that all processes of this machine have used, and the kernel
// and its host instead of them; 0: it is not known.
func machineCPU() (busy time.Duration) {
	text, _ := os.ReadFile("/proc/stat")
	first, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(first) {
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue // the name, idle, iowait, and what is counted in another field
		}
		ticks, _ := strconv.ParseInt(field, 10, 64)
		busy += time.Duration(ticks) * 10 * time.Millisecond
	}
	return busy
}

// resources is what the gateway, its tools and PostgreSQL hold.
type resources struct {
	GatewayMB, ToolsMB, PostgresMB int64 // proportional set size
	Descriptors, Goroutines        int   // of the gateway
}

// keepPeak raises the peaks to the present use of resources, where that is higher.
func (m *run) keepPeak() {
	var now resources
	all := system.Processes()
	for pid, p := range all {
		switch of := m.roleOf(all, pid); of {
		case product:
			pss, _ := p.Memory()
			now.GatewayMB += pss >> 20
			files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // an error: the process has ended
			now.Descriptors += len(files)
		case analyser, resolver:
			pss, _ := p.Memory()
			now.ToolsMB += pss >> 20
		}
	}
	for _, p := range m.db.Processes(all) {
		pss, _ := p.Memory()
		now.PostgresMB += pss >> 20
	}
	now.Goroutines = m.goroutines()
	r := &m.result.Peak
	*r = resources{
		max(r.GatewayMB, now.GatewayMB), max(r.ToolsMB, now.ToolsMB), max(r.PostgresMB, now.PostgresMB),
		max(r.Descriptors, now.Descriptors), max(r.Goroutines, now.Goroutines),
	}
}
