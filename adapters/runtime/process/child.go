package process

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// body is the process of a worker.
type body interface {
	// signal reaches it, or nobody.
	signal(s syscall.Signal)

	// wait blocks until it is gone, and what it has started with it.
	wait() ending
}

// ending is how a process ended.
type ending struct {
	detail string // for people
	clean  bool
}

// child is a worker that this gateway has started.
type child struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	reaped bool // its number is no longer its own
}

// signal reaches its process group.
func (c *child) signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = syscall.Kill(-c.cmd.Process.Pid, s)
	}
}

func (c *child) wait() ending {
	c.reap()
	state := c.cmd.ProcessState
	return ending{detail(state), state.ExitCode() == 0}
}

// detail says how a process ended.
func detail(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		if name := unix.SignalName(ws.Signal()); name != "" {
			return "killed by " + name
		}
		return "killed by signal " + ws.Signal().String()
	}
	return fmt.Sprintf("exit status %d", state.ExitCode())
}
