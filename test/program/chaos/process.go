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
	"time"
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

// listProcesses lists the processes of this machine. It takes the identities of
// those in known from there.
func listProcesses(known map[string]identity) (all []process) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, _ := dir.Readdirnames(-1)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry)
		if err != nil {
			continue
		}
		p, ok := readProcess(pid)
		if !ok {
			continue
		}
		if id, found := known[p.key()]; found {
			p.identity = id
		} else {
			p.identity = readIdentity(pid)
		}
		all = append(all, p)
	}
	return all
}

func (p process) key() string { return strconv.Itoa(p.pid) + "/" + p.start }

// settleTime is the age from which a process's identity is cached. A process
// that has just been forked still looks like its parent.
const settleTime = time.Second

// processTree returns the process root and its descendants; nothing if there is
// no such process.
func processTree(all []process, root int) (descendants []process) {
	if root <= 1 {
		return nil
	}
	for _, p := range all {
		if p.pid == root {
			descendants = append(descendants, p)
		}
		if p.parent == root {
			descendants = append(descendants, processTree(all, p.pid)...)
		}
	}
	return descendants
}
