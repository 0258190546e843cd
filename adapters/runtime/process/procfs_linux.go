package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// adoptionSupported reports that the next gateway can adopt a worker.
const adoptionSupported = true

// tick is the unit of time in proc_pid_stat(5). USER_HZ is 100 wherever Go
// runs.
const tick = 10 * time.Millisecond

// maxWords is the largest part of a process's arguments or environment that is read, in
// bytes.
const maxWords = 1 << 20

// procStat holds the fields of proc_pid_stat(5) that are used.
type procStat struct {
	state   byte
	session int
	start   uint64 // in ticks since boot
}

// ended reports whether the process has ended. Its parent may not have reaped it yet.
func (s procStat) ended() bool { return s.state == 'Z' || s.state == 'X' }

// readStat reads a process's stat. It returns false if there is no such
// process.
func readStat(pid int) (s procStat, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, false
	}
	return parseStat(b)
}

// parseStat reads "pid (comm) state ppid pgrp session … starttime …"; comm may
// contain blanks and parentheses.
func parseStat(b []byte) (s procStat, ok bool) {
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return procStat{}, false
	}
	session, err := strconv.Atoi(string(fields[3]))
	start, errStart := strconv.ParseUint(string(fields[19]), 10, 64)
	return procStat{fields[0][0], session, start}, err == nil && errStart == nil
}

// identifyProcess identifies the process that has this ID now.
func identifyProcess(pid int) (processIdentity, error) {
	boot, err := bootID()
	if err != nil {
		return processIdentity{}, err
	}
	s, ok := readStat(pid)
	if !ok {
		return processIdentity{}, fmt.Errorf("process %d is not in /proc", pid)
	}
	return processIdentity{pid, s.start, boot}, nil
}

// startTime is when the process started.
func (p processIdentity) startTime() time.Time {
	return time.Now().Add(-time.Duration(ticksSinceBoot()-p.Start) * tick) //nolint:gosec // a running process started in the past
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

// listProcesses lists the ids of all processes.
func listProcesses() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// readEnviron reads the environment with which a process was started; nil if it cannot be
// read.
func readEnviron(pid int) map[string]string {
	env := map[string]string{}
	for _, v := range readWords(pid, "environ") {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

// readArguments reads the identifyingFlags of a process, by variable.
func readArguments(pid int) map[string]string {
	found := map[string]string{}
	for _, word := range readWords(pid, "cmdline") {
		for name, flag := range identifyingFlags {
			if value, is := strings.CutPrefix(word, flag); is {
				found[name] = value
			}
		}
	}
	return found
}

// isConfined reports whether a process is confined as tools are, and this one is not. A process
// cannot take off what is counted here, and hands it on to all that it starts.
func isConfined(pid int) bool {
	privileges, filters := readConfinement(strconv.Itoa(pid))
	ownPrivileges, ownFilters := readConfinement("self")
	return privileges > ownPrivileges || filters > ownFilters
}

// readConfinement returns whether a process can gain no privileges (1), and how many filters of system calls it has.
func readConfinement(process string) (noNewPrivileges, filters int) {
	b, _ := os.ReadFile("/proc/" + process + "/status")
	for line := range strings.Lines(string(b)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t"); name {
		case "NoNewPrivs":
			noNewPrivileges, _ = strconv.Atoi(value)
		case "Seccomp_filters":
			filters, _ = strconv.Atoi(value)
		}
	}
	return noNewPrivileges, filters
}

// readWords reads a file of /proc/PID that holds words; nil if it cannot be read.
func readWords(pid int, file string) []string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxWords))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(string(b), "\x00")
}

// ticksSinceBoot is the time since boot, on the clock of process start times.
func ticksSinceBoot() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	return uint64(now.Nano() / int64(tick)) //nolint:gosec // no time is before the boot
}
