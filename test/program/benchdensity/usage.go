//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// processTree follows the descendants of a gateway, to divide their CPU time among roles.
type processTree struct {
	command string // of the gateway
	roles   map[int]role
	top     map[int]bool          // resolvers that the product has started
	last    map[int]time.Duration // CPU time of live resolvers when last seen
	ended   time.Duration         // that of ended resolvers
	tools   map[string]bool       // that the product has started
}

func newProcessTree(gateway int) *processTree {
	return &processTree{
		command: system.Processes()[gateway].Command, roles: map[int]role{gateway: product},
		top: map[int]bool{}, last: map[int]time.Duration{}, tools: map[string]bool{},
	}
}

// scan finds the processes that are new, and forgets those that have ended. By then, the time of
// a resolver's child is in its parent's. Call it often: what a resolver uses after the last scan
// before its end counts as the analyser's.
func (t *processTree) scan() (all map[int]system.Process) {
	all = system.Processes()
	for pid := range t.roles {
		if _, alive := all[pid]; alive {
			continue
		}
		if t.top[pid] {
			t.ended += t.last[pid]
		}
		delete(t.roles, pid)
		delete(t.top, pid)
		delete(t.last, pid)
	}
	for _, pid := range slices.Sorted(maps.Keys(all)) { // parents first, mostly
		p := all[pid]
		of := t.roles[p.Parent]
		// A process that has not executed its program yet cannot be told from the product.
		if t.roles[pid] == 0 && of != 0 && (of != product || p.Command != t.command) {
			t.add(p, of)
		}
		if t.roles[pid] == resolver {
			t.last[pid] = p.CPU + p.Waited
		}
	}
	return all
}

// add gives a process its role, by that of its parent: the children of a tool belong to it.
func (t *processTree) add(p system.Process, of role) {
	t.roles[p.PID] = of
	if of != product {
		return
	}
	words := append(strings.Fields(p.Command), "", "")
	tool := filepath.Base(words[0])
	switch {
	case words[1] == "worker":
		return
	case strings.HasPrefix(tool, "python") && strings.HasPrefix(words[1], "-"):
		tool = "yt-dlp that stays up"
	case strings.HasPrefix(tool, "python"):
		tool = filepath.Base(words[1])
	}
	t.tools[tool] = true
	t.roles[p.PID] = analyser
	if strings.Contains(p.Command+tool, "yt-dlp") || tool == "streamlink" || tool == "deno" {
		t.roles[p.PID], t.top[p.PID] = resolver, true
	}
}

// usage is CPU time until an instant.
type usage struct {
	product, analyser, resolver, postgres, program time.Duration
}

// measured returns the CPU time of everything that belongs to the measurement.
func (u usage) measured() time.Duration {
	return u.product + u.analyser + u.resolver + u.postgres + u.program
}

// usage returns the CPU time that was used until now.
func (m *run) usage() (u usage) {
	all := m.tree.scan()
	u.resolver = m.tree.ended
	for pid, r := range m.tree.roles {
		p := all[pid]
		switch r {
		case product:
			u.product += p.CPU
			u.analyser += p.Waited
		case resolver:
			u.resolver += p.CPU + p.Waited
			u.analyser += p.CPU + p.Waited
		default:
			u.analyser += p.CPU + p.Waited
		}
	}
	u.analyser = max(0, u.analyser-u.resolver) // the sum so far is that of all tools
	u.postgres, u.program = m.db.CPU(all), bench.OwnCPU()
	return u
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

// parts is CPU time by part, in seconds for each of something.
type parts struct {
	Gateway, Analyser, Resolver, PostgreSQL float64

	Program float64 // and its media server; not part of the cost
}

// partsOf divides what was used between two instants by a number.
func partsOf(before, after usage, by float64) parts {
	per := func(from, to time.Duration) float64 { return (to - from).Seconds() / by }
	return parts{
		per(before.product, after.product), per(before.analyser, after.analyser), per(before.resolver, after.resolver),
		per(before.postgres, after.postgres), per(before.program, after.program),
	}
}

func (p parts) all() float64 { return p.Gateway + p.Analyser + p.Resolver + p.PostgreSQL }

// resources is what the gateway, its tools and PostgreSQL hold.
type resources struct {
	GatewayMB, ToolsMB, PostgresMB int64 // proportional set size
	Descriptors, Goroutines        int   // of the gateway
}

// keepPeak raises the peaks to the present use of resources, where that is higher.
func (m *run) keepPeak(r *resources) {
	var now resources
	all := m.tree.scan()
	for pid, of := range m.tree.roles {
		pss, _ := all[pid].Memory()
		if of != product {
			now.ToolsMB += pss >> 20
			continue
		}
		now.GatewayMB += pss >> 20
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // an error: the process has ended
		now.Descriptors += len(files)
	}
	for _, p := range m.db.Processes(all) {
		pss, _ := p.Memory()
		now.PostgresMB += pss >> 20
	}
	if profile, err := m.profile("goroutine?debug=1"); err == nil {
		_, _ = fmt.Sscanf(string(profile), "goroutine profile: total %d", &now.Goroutines)
	}
	*r = resources{
		max(r.GatewayMB, now.GatewayMB), max(r.ToolsMB, now.ToolsMB), max(r.PostgresMB, now.PostgresMB),
		max(r.Descriptors, now.Descriptors), max(r.Goroutines, now.Goroutines),
	}
}
