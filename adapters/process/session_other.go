//go:build !linux

package process

import (
	"os/exec"
	"syscall"
)

// reap waits for a worker's process to end, then ends what is left of its
// process group. Tools in groups of their own are left to notice by themselves
// that nobody reads them any more: only Linux shows who belongs to a session.
func (r *run) reap(cmd *exec.Cmd) {
	_ = cmd.Wait() // how it ended is in cmd.ProcessState
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reaped = true
	_ = syscall.Kill(-r.pid, syscall.SIGKILL)
}
