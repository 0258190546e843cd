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

// adopts: a worker that outlives its gateway is found by the next.
const adopts = true

// tick is the unit of time in proc_pid_stat(5): USER_HZ is 100 wherever Go runs.
const tick = 10 * time.Millisecond

// maxEnviron bounds what is read of a process's environment, in bytes.
const maxEnviron = 1 << 20

// stat is what is read of proc_pid_stat(5).
type stat struct {
	state   byte
	session int
	start   uint64 // in ticks since boot
}

// over tells a process that has ended, reaped or not.
func (s stat) over() bool { return s.state == 'Z' || s.state == 'X' }

// readStat reads a process's; not ok: there is none of that number.
func readStat(pid int) (s stat, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, false
	}
	return parseStat(b)
}

// parseStat reads pid (comm) state ppid pgrp session … start …; comm may hold
// blanks and parentheses.
func parseStat(b []byte) (s stat, ok bool) {
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return stat{}, false
	}
	session, err := strconv.Atoi(string(fields[3]))
	start, errStart := strconv.ParseUint(string(fields[19]), 10, 64)
	return stat{fields[0][0], session, start}, err == nil && errStart == nil
}

// identify tells who has a process number now.
func identify(pid int) (identity, error) {
	boot, err := bootID()
	if err != nil {
		return identity{}, err
	}
	s, ok := readStat(pid)
	if !ok {
		return identity{}, fmt.Errorf("process %d is not in /proc", pid)
	}
	return identity{pid, s.start, boot}, nil
}

// started is when that process began.
func (i identity) started() time.Time {
	return time.Now().Add(-time.Duration(sinceBoot()-i.Start) * tick) //nolint:gosec // what runs began in the past
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

// processes lists the numbers of all processes.
func processes() []int {
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

// readEnviron reads the environment that a process was started with; nil when
// that is not for us to see.
func readEnviron(pid int) map[string]string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxEnviron))
	if err != nil || len(b) == 0 {
		return nil
	}
	env := map[string]string{}
	for v := range bytes.SplitSeq(b, []byte{0}) {
		name, value, _ := strings.Cut(string(v), "=")
		env[name] = value
	}
	return env
}

// sinceBoot is the clock that process start times are read from, in ticks.
func sinceBoot() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	return uint64(now.Nano() / int64(tick)) //nolint:gosec // no time is before the boot
}
