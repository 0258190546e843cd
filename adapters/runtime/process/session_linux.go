package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSweeps bounds how often a session is looked through. A process that forks
// while it is killed leaves a child for the next time.
const maxSweeps = 5

// killSession kills the processes of a session for which belongs is true. A
// worker's tools have process groups of their own, but share its session.
func killSession(session int, belongs func(procStat) bool) {
	member := func(pid int) bool {
		s, ok := readStat(pid)
		return ok && s.session == session && !s.ended() && belongs(s)
	}
	for range maxSweeps {
		found := false
		for _, pid := range listProcesses() {
			if pid != session && killIf(pid, member) {
				found = true
			}
		}
		if !found {
			return
		}
	}
}

// killIf kills a process if is confirms it, and reports whether it did. The id
// may be reused meanwhile, but not while a pidfd holds the process.
func killIf(pid int, is func(pid int) bool) (confirmed bool) {
	if !is(pid) {
		return false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.3
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return true
	}
	if err != nil {
		return true
	}
	defer func() { _ = unix.Close(fd) }()
	if is(pid) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	return true
}

// reap waits for the process to end, kills what it has left, and then releases
// the process id. Until then no other process, group or session can get that
// id.
func (c *childProcess) reap() {
	pid := c.cmd.Process.Pid
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	c.mu.Lock()
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	killSession(pid, func(procStat) bool { return true })
	c.reaped = true
	c.mu.Unlock()
	_ = c.cmd.Wait() // the result is in cmd.ProcessState
}
