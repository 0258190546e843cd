package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSweeps limits how often killSession lists the processes of a session. A process may
// fork while it is killed, and the next sweep finds the child.
const maxSweeps = 5

// killSession kills the processes of a session that are selected, except its leader. A
// worker's tools have process groups of their own, but share its session.
func killSession(session int, selected func(procStat) bool) {
	member := func(pid int) bool {
		s, ok := readStat(pid)
		return ok && s.session == session && !s.ended() && selected(s)
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

// killIf kills a process if selected confirms its ID, and reports whether it did. Another
// process may get the ID meanwhile, so killIf asks again when a pidfd holds the process.
func killIf(pid int, selected func(pid int) bool) (confirmed bool) {
	if !selected(pid) {
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
	if selected(pid) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	return true
}

// reap waits for the process to end, kills the processes that it has left, and then
// releases the process ID. Until then no other process, group or session gets that ID.
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
