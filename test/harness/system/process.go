package system

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a process of this machine, identified by its id and start time.
type Process struct {
	PID     int
	Parent  int
	Command string        // its first arguments
	CPU     time.Duration // that it has used, by user and system
	Waited  time.Duration // the same of its children that have ended and were waited for
	start   string
}

// clockTick is the unit of times in /proc (USER_HZ, 100 on every Linux that Go supports).
const clockTick = 10 * time.Millisecond

// Processes returns every process of this machine by its id; none without /proc.
func Processes() map[int]Process {
	all := map[int]Process{}
	entries, _ := os.ReadDir("/proc") // fails elsewhere than on Linux
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := inspect(pid); err == nil {
			all[pid] = p
		}
	}
	return all
}

// Memory returns the proportional set size (PSS) and the resident set size (RSS)
// in bytes; 0: the process is gone.
func (p Process) Memory() (proportional, resident int64) {
	return p.readBytes("smaps_rollup", "Pss:"), p.readBytes("smaps_rollup", "Rss:")
}

// Peak returns the largest resident set size so far, in bytes, without the pages of
// files: the kernel can drop those, and all workers share them. 0: the process is
// gone.
func (p Process) Peak() int64 {
	return p.readBytes("status", "VmHWM:") - p.readBytes("status", "RssFile:")
}

// readBytes reads a number of kB from a file of /proc/PID.
func (p Process) readBytes(file, name string) int64 {
	all, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.PID, file))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(all), "\n"+name)
	var kib int64
	_, _ = fmt.Sscanf(rest, "%d kB", &kib)
	return kib << 10
}

// alive reports whether it still runs. Another process may have its id by now.
func (p Process) alive() bool {
	now, err := inspect(p.PID)
	return err == nil && now.start == p.start
}

// inspect reads a process of /proc (proc(5)).
func inspect(pid int) (Process, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return Process{}, err
	}
	// The name in parentheses may contain spaces; fields are counted after it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return Process{}, fmt.Errorf("%sstat has %d fields", dir, len(fields))
	}
	if fields[0] == "Z" {
		return Process{}, os.ErrProcessDone
	}
	number := func(field int) int {
		n, _ := strconv.Atoi(fields[field])
		return n
	}
	args, _ := os.ReadFile(dir + "cmdline")
	words := strings.Split(strings.TrimRight(string(args), "\x00"), "\x00")
	return Process{
		PID:     pid,
		Parent:  number(1),
		Command: strings.Join(words[:min(len(words), 2)], " "),
		CPU:     time.Duration(number(11)+number(12)) * clockTick,
		Waited:  time.Duration(number(13)+number(14)) * clockTick,
		start:   fields[19],
	}, nil
}

// Below returns every process below one, parents before their children.
func Below(pid int) (all []Process) {
	children := map[int][]Process{}
	for _, p := range Processes() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	all = slices.Clone(children[pid])
	for n := 0; n < len(all); n++ {
		all = append(all, children[all[n].PID]...)
	}
	return all
}

// Descendants returns every process below the service.
func (s *Service) Descendants() []Process { return Below(s.PID()) }

// Workers returns the workers among the descendants.
func (s *Service) Workers() (workers []Process) {
	for _, p := range s.Descendants() {
		if strings.HasSuffix(p.Command, " worker") {
			workers = append(workers, p)
		}
	}
	return workers
}

// WorkersOf returns the workers of a monitor on this machine, also those of
// earlier gateways.
func WorkersOf(monitorID string) (workers []Process) {
	for _, p := range Processes() {
		if strings.HasSuffix(p.Command, " worker") && p.Env("MONITOR_ID") == monitorID {
			workers = append(workers, p)
		}
	}
	return workers
}

// Env returns a variable of the process's environment. Only root can read that of a gateway
// or worker; a worker has MONITOR_ID and GENERATION as arguments, too.
func (p Process) Env(name string) string {
	flag := "--" + strings.ToLower(strings.ReplaceAll(name, "_", "-")) + "="
	for file, prefix := range map[string]string{"cmdline": flag, "environ": name + "="} {
		words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.PID, file))
		for word := range strings.SplitSeq(string(words), "\x00") {
			if value, found := strings.CutPrefix(word, prefix); found {
				return value
			}
		}
	}
	return ""
}

// Kill ends the process with SIGKILL.
func (p Process) Kill() { p.Signal(syscall.SIGKILL) }

// Signal sends the process a signal.
func (p Process) Signal(s syscall.Signal) { _ = syscall.Kill(p.PID, s) }

// endTimeout is how long after its service a process may run on. The children of a
// PostgreSQL server that had to be killed first finish what they write.
const endTimeout = 10 * time.Second

// KillRemaining waits for processes to end, and kills those that still run after
// endTimeout. Error: it names them.
func KillRemaining(processes []Process) (err error) {
	for deadline := time.Now().Add(endTimeout); slices.ContainsFunc(processes, Process.alive) && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	for _, p := range processes {
		if p.alive() {
			err = errors.Join(err, fmt.Errorf("process %d (%s) was left behind", p.PID, p.Command))
			p.Kill()
		}
	}
	return err
}
