package process

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// sweeps is how often a session is looked through; what is killed while it
// forks leaves something for the next time.
const sweeps = 5

// reap waits for a worker's process to end and ends whatever it has left, both
// before the process id is given back: until then no other process, group or
// session can have that number.
func (r *run) reap(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, r.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	r.mu.Lock()
	_ = syscall.Kill(-r.pid, syscall.SIGKILL)
	sweep(r.pid)
	r.reaped = true
	r.mu.Unlock()
	_ = cmd.Wait() // how it ended is in cmd.ProcessState
}

// sweep kills every process of the session that leader led. The tools that a
// worker runs have process groups of their own; the session is what they keep.
func sweep(leader int) {
	for range sweeps {
		left := members(leader)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// members lists the living processes of a session, without its leader.
func members(leader int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == leader {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err == nil && livesIn(stat, leader) {
			out = append(out, pid)
		}
	}
	return out
}

// livesIn reads proc_pid_stat(5): pid (comm) state ppid pgrp session …; comm
// may hold blanks and parentheses.
func livesIn(stat []byte, session int) bool {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 {
		return false
	}
	dead := fields[0][0] == 'Z' || fields[0][0] == 'X'
	return !dead && string(fields[3]) == strconv.Itoa(session)
}
