//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// role is the task of a process within an environment.
type role string

const (
	gatewayRole role = "gateway"
	workerRole  role = "worker"
	ffmpegRole  role = "ffmpeg" // or segment-decoder
	ytdlpRole   role = "yt-dlp"
	otherRole   role = "other"
)

// process is a process as it was at one moment.
type process struct {
	pid, parent int
	start       string // with pid it identifies the process uniquely
	state       byte   // R, S, T, Z, …
	identity
}

// identity is the part of a process that changes only when it runs another
// program.
type identity struct {
	environment string // its TMPDIR, unique to an environment; empty: none
	role        role
	monitor     string
	generation  int
}

func (p process) key() string { return strconv.Itoa(p.pid) + "/" + p.start }

func (p process) zombie() bool { return p.state == 'Z' || p.state == 'X' }

// signal sends a signal to this process, but not to a later process with the
// same id. Only processes that an environment has started are ever signalled.
func (p process) signal(s syscall.Signal) {
	now, ok := readProcess(p.pid)
	if !ok || now.start != p.start || p.pid <= 1 || p.pid == os.Getpid() {
		return
	}
	_ = syscall.Kill(p.pid, s)
}

func (p process) String() string {
	return fmt.Sprintf("process %d (%s, monitor %q, generation %d, state %c, parent %d)", p.pid, p.role, p.monitor, p.generation, p.state, p.parent)
}

// readProcess reads a process's id, parent, start time and state (proc(5)).
func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// The name in parentheses may contain spaces, so fields are counted after it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return process{pid: pid, parent: parent, start: string(fields[19]), state: fields[0][0]}, true
}

// readIdentity reads a process's environment and arguments. A zombie has
// neither.
func readIdentity(pid int) (id identity) {
	dir := "/proc/" + strconv.Itoa(pid)
	environ, err := os.ReadFile(dir + "/environ")
	if err != nil {
		return id
	}
	for line := range bytes.SplitSeq(environ, []byte{0}) {
		name, value, _ := bytes.Cut(line, []byte{'='})
		switch string(name) {
		case "TMPDIR":
			id.environment, _, _ = strings.Cut(string(value), "/stream-monitor-tools-") // a confined tool has a folder in it
		case "MONITOR_ID":
			id.monitor = string(value)
		case "GENERATION":
			id.generation, _ = strconv.Atoi(string(value))
		}
	}
	line, _ := os.ReadFile(dir + "/cmdline")
	args := strings.Split(string(line), "\x00")
	id.role = otherRole
	switch base := filepath.Base(args[0]); {
	case base == "stream-monitor" && len(args) > 1 && args[1] == "worker":
		id.role = workerRole
	case base == "stream-monitor" && len(args) > 1 && args[1] == "serve":
		id.role = gatewayRole
	case base == "ffmpeg", strings.HasPrefix(base, "segment-decoder"):
		id.role = ffmpegRole
	case base == "yt-dlp" || len(args) > 1 && filepath.Base(args[1]) == "yt-dlp":
		id.role = ytdlpRole
	}
	return id
}

// processTree returns the process root, if there is one, and its descendants, parents before
// children. Their identities are unknown.
func processTree(root int) (tree []process) {
	entries, err := os.ReadDir("/proc")
	if err != nil || root <= 1 {
		return nil
	}
	children := map[int][]process{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok && pid == root {
			tree = append(tree, p)
		} else if ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	for n := 0; n < len(tree); n++ {
		tree = append(tree, children[tree[n].pid]...)
	}
	return tree
}
