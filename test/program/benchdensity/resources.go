//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// usage is CPU time until an instant.
type usage struct {
	cpuByRole

	postgres, server, program time.Duration

	yardstick time.Duration // of the specification's method, as far as it has ended
}

// measured returns the CPU time of everything that belongs to the measurement.
func (u usage) measured() time.Duration {
	return u.product + u.analyser + u.resolver + u.postgres + u.server + u.program + u.yardstick
}

// parts is CPU time by part, in seconds for each of something.
type parts struct {
	Gateway, Analyser, Resolver, PostgreSQL float64

	MediaServer, Program float64 // not part of the cost
}

// partsOf divides what was used between two instants by a number.
func partsOf(before, after usage, by float64) parts {
	per := func(from, to time.Duration) float64 { return (to - from).Seconds() / by }
	return parts{
		Gateway: per(before.product, after.product), Analyser: per(before.analyser, after.analyser),
		Resolver: per(before.resolver, after.resolver), PostgreSQL: per(before.postgres, after.postgres),
		MediaServer: per(before.server, after.server), Program: per(before.program, after.program),
	}
}

func (p parts) all() float64 { return p.Gateway + p.Analyser + p.Resolver + p.PostgreSQL }

// resources is what the gateway, its tools and PostgreSQL hold.
type resources struct {
	GatewayBytes, ToolsBytes, PostgresBytes int64 // proportional set size
	Descriptors, Threads, Goroutines        int   // of the gateway
}

// bytes returns what all hold together.
func (r resources) bytes() int64 { return r.GatewayBytes + r.ToolsBytes + r.PostgresBytes }

// keepLargest keeps the larger value of each field.
func (r *resources) keepLargest(now resources) {
	*r = resources{
		max(r.GatewayBytes, now.GatewayBytes), max(r.ToolsBytes, now.ToolsBytes), max(r.PostgresBytes, now.PostgresBytes),
		max(r.Descriptors, now.Descriptors), max(r.Threads, now.Threads), max(r.Goroutines, now.Goroutines),
	}
}

// usage returns the CPU time that was used until now.
func (m *run) usage() (u usage) {
	u.cpuByRole, _ = m.tree.scan()
	u.postgres, _ = cpuOfTree(m.postmaster())
	u.server, _ = cpuOfTree(m.server.cmd.Process.Pid)
	u.program, u.yardstick = ownCPU(syscall.RUSAGE_SELF), ownCPU(syscall.RUSAGE_CHILDREN)
	return u
}

// postmaster returns the process ID of PostgreSQL's first process; 0: it is not known.
func (m *run) postmaster() int {
	text, _ := os.ReadFile(filepath.Join(m.dir, "db", "postgres", "postmaster.pid"))
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}

// resources returns what is held now.
func (m *run) resources() (r resources) {
	_, live := m.tree.scan()
	for pid, role := range live {
		pss, _ := system.Process{PID: pid}.Memory()
		if role != product {
			r.ToolsBytes += pss
			continue
		}
		r.GatewayBytes += pss
		r.Descriptors += entries(fmt.Sprintf("/proc/%d/fd", pid))
		r.Threads += entries(fmt.Sprintf("/proc/%d/task", pid))
	}
	_, pids := cpuOfTree(m.postmaster())
	for _, pid := range pids {
		pss, _ := system.Process{PID: pid}.Memory()
		r.PostgresBytes += pss
	}
	r.Goroutines = m.goroutines()
	return r
}

func entries(dir string) int {
	all, _ := os.ReadDir(dir) // an error: the process has ended
	return len(all)
}

// goroutines returns how many goroutines the gateway has; 0: it does not answer.
func (m *run) goroutines() (n int) {
	res, err := http.Get(m.profiles + "goroutine?debug=1")
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = fmt.Fscanf(res.Body, "goroutine profile: total %d", &n)
	return n
}
