package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// reap waits for the process to end and ends whatever it has left, both before
// the process number is given back: until then no other process, group or
// session can have it.
func (c *child) reap() {
	pid := c.cmd.Process.Pid
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	c.mu.Lock()
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	sweep(pid, func(stat) bool { return true })
	c.reaped = true
	c.mu.Unlock()
	_ = c.cmd.Wait() // how it ended is in cmd.ProcessState
}
