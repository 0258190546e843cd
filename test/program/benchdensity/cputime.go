//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of times in /proc (USER_HZ, 100 on every Linux that Go supports).
const clockTick = 10 * time.Millisecond

// processStat is what /proc/PID/stat says of a process (proc(5)).
type processStat struct {
	parent   int
	zombie   bool
	own      time.Duration // user and system
	children time.Duration // the same of children that have ended and were waited for
}

func (s processStat) all() time.Duration { return s.own + s.children }

func readStat(pid int) (processStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processStat{}, err
	}
	return parseStat(text)
}

// parseStat parses a stat file. The name in parentheses may contain spaces; fields are
// counted after it.
func parseStat(text []byte) (s processStat, err error) {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return s, fmt.Errorf("a stat file has %d fields", len(fields))
	}
	var ticks [4]int64
	for i := range ticks {
		if ticks[i], err = strconv.ParseInt(fields[11+i], 10, 64); err != nil {
			return s, err
		}
	}
	s.zombie = fields[0] == "Z"
	s.parent, err = strconv.Atoi(fields[1])
	s.own, s.children = time.Duration(ticks[0]+ticks[1])*clockTick, time.Duration(ticks[2]+ticks[3])*clockTick
	return s, err
}

// role says what a process does.
type role int

const (
	other    role = iota // no descendant of the gateway
	product              // the gateway, or a worker process
	analyser             // ffmpeg, or what takes its place
	resolver             // yt-dlp, streamlink, and what they start
)

// roleOf returns the role of a child of the product by its command line.
func roleOf(cmdline string) role {
	words := strings.Split(cmdline, "\x00")
	switch {
	case len(words) > 1 && words[1] == "worker":
		return product
	case strings.Contains(filepath.Base(words[0]), "python"), strings.Contains(cmdline, "yt-dlp"),
		strings.Contains(cmdline, "yt_dlp"), strings.Contains(cmdline, "streamlink"), strings.Contains(cmdline, "deno"):
		return resolver
	}
	return analyser
}

// processTree follows the descendants of a gateway, to divide their CPU time among roles.
type processTree struct {
	root    int
	cmdline string // of root

	roles map[int]role          // of the processes that live
	last  map[int]time.Duration // CPU time of live resolvers when last seen, without their children's that live
	ended time.Duration         // that of ended resolvers that the product has started
	top   map[int]bool          // resolvers that the product has started
	seen  map[string]int        // processes of each tool that the product has started
}

func newProcessTree(root int) *processTree {
	return &processTree{root: root, cmdline: commandLine(root), roles: map[int]role{root: product}, last: map[int]time.Duration{}, top: map[int]bool{}, seen: map[string]int{}}
}

// cpuByRole is CPU time of a gateway and its descendants until an instant.
type cpuByRole struct{ product, analyser, resolver time.Duration }

// scan reads all processes. Call it often: what a resolver uses after the last scan before
// its end counts as the analyser's.
func (t *processTree) scan() (cpu cpuByRole, live map[int]role) {
	stats := t.readNew()
	t.forget(stats)
	var tools time.Duration
	cpu.resolver = t.ended
	live = map[int]role{}
	for pid, r := range t.roles {
		if r == other {
			continue
		}
		s, err := readStat(pid)
		if err != nil {
			continue
		}
		live[pid] = r
		switch r {
		case product:
			cpu.product += s.own
			tools += s.children
		case analyser:
			tools += s.all()
		case resolver:
			tools += s.all()
			cpu.resolver += s.all()
			t.last[pid] = s.all()
		}
	}
	cpu.analyser = max(0, tools-cpu.resolver)
	return cpu, live
}

// readNew finds processes that were not seen before, and returns the IDs of all.
func (t *processTree) readNew() (all map[int]bool) {
	entries, _ := os.ReadDir("/proc") // an error leaves what is known
	all = map[int]bool{}
	var fresh []int
	parents := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		all[pid] = true
		if _, known := t.roles[pid]; known {
			continue
		}
		// A process that has not executed its program yet cannot be told from the product.
		if s, err := readStat(pid); err == nil && !s.zombie && commandLine(pid) != t.cmdline {
			fresh = append(fresh, pid)
			parents[pid] = s.parent
		}
	}
	for _, pid := range fresh {
		t.roles[pid] = t.newRole(pid, parents, 0)
	}
	return all
}

// newRole returns the role of a process by that of its parent, which may be new as well.
func (t *processTree) newRole(pid int, parents map[int]int, depth int) role {
	parent := parents[pid]
	of, known := t.roles[parent]
	if !known {
		if _, isNew := parents[parent]; !isNew || depth > 10 {
			return other
		}
		of = t.newRole(parent, parents, depth+1)
	}
	if of != product {
		return of // the children of a tool belong to it
	}
	cmdline := commandLine(pid)
	r := roleOf(cmdline)
	if r == resolver {
		t.top[pid] = true
	}
	if r != product && depth == 0 {
		t.seen[toolName(cmdline)]++
	}
	return r
}

// commandLine returns the arguments of a process, each with a NUL behind it; empty: it has ended.
func commandLine(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(text)
}

// toolName names a tool by its command line.
func toolName(cmdline string) string {
	words := strings.Split(cmdline, "\x00")
	name := filepath.Base(words[0])
	if !strings.HasPrefix(name, "python") || len(words) < 2 {
		return name
	}
	if script := filepath.Base(words[1]); !strings.HasPrefix(script, "-") {
		return script
	}
	return "yt-dlp that stays up"
}

// toolsSeen lists the tools that the product has started, with the number of processes that
// were seen of each.
func (t *processTree) toolsSeen() (all []string) {
	for name, n := range t.seen {
		all = append(all, fmt.Sprintf("%s (%d)", name, n))
	}
	slices.Sort(all)
	return all
}

// forget removes the processes that have ended. By then the time of a resolver's child is
// in its parent's.
func (t *processTree) forget(all map[int]bool) {
	for pid, r := range t.roles {
		if all[pid] {
			continue
		}
		delete(t.roles, pid)
		if r == resolver && t.top[pid] {
			t.ended += t.last[pid]
		}
		delete(t.last, pid)
		delete(t.top, pid)
	}
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
		busy += time.Duration(ticks) * clockTick
	}
	return busy
}

// ownCPU returns the CPU time of this process or of its children that have ended (getrusage(2)).
func ownCPU(who int) time.Duration {
	var own syscall.Rusage
	if syscall.Getrusage(who, &own) != nil {
		return 0
	}
	return time.Duration(own.Utime.Nano() + own.Stime.Nano())
}

// cpuOfTree returns the CPU time of a process and of its children, ended ones included.
func cpuOfTree(root int) (sum time.Duration, pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // fails on a bad pattern only
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		s, err := readStat(pid)
		if err != nil || s.parent != root && pid != root {
			continue
		}
		sum += s.all()
		pids = append(pids, pid)
	}
	return sum, pids
}
