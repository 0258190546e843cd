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

// role is what a process of a site does there.
type role string

const (
	gatewayRole role = "gateway"
	workerRole  role = "worker"
	ffmpegRole  role = "ffmpeg"
	ytdlpRole   role = "yt-dlp"
	otherRole   role = "other"
)

// process is a process, as seen at one moment.
type process struct {
	pid, parent int
	start       string // with pid it is its name for ever
	state       byte   // R, S, T, Z, …
	identity
}

// identity is what a process is, which changes only when it runs another
// program.
type identity struct {
	environment string // its TMPDIR, which no other site has; empty: of no site
	role        role
	monitor     string
	generation  int
}

func (p process) zombie() bool { return p.state == 'Z' || p.state == 'X' }

// signal reaches this process and no other that has got its number since. Faults
// are for what a site has started: nothing else is ever sent a signal.
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

// readProcess reads what changes of a process (proc(5)).
func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// The name, in parentheses, may hold anything; fields are counted after it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return process{pid: pid, parent: parent, start: string(fields[19]), state: fields[0][0]}, true
}

// identify reads what a process is. A zombie has forgotten.
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
			id.environment = string(value)
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
	case base == "ffmpeg":
		id.role = ffmpegRole
	case base == "yt-dlp" || len(args) > 1 && filepath.Base(args[1]) == "yt-dlp":
		id.role = ytdlpRole
	}
	return id
}

// running lists the processes of this machine; of some of them it is known
// what they are.
func listProcesses(known map[string]identity) (all []process) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
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

// settled is how old a process is when it is believed to stay what it is: one
// that has just been forked looks like its parent.
const settleTime = time.Second

// tree is a process and all below it; none, if there is no such process.
func processTree(all []process, root int) (family []process) {
	if root <= 1 {
		return nil
	}
	for _, p := range all {
		if p.pid == root {
			family = append(family, p)
		}
		if p.parent == root {
			family = append(family, processTree(all, p.pid)...)
		}
	}
	return family
}
