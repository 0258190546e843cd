//go:build !linux

package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// adopts: a worker that outlives its gateway is found by the next.
const adopts = false

// errNotHere: only Linux tells who a process is, and of its end to others than
// its parent.
var errNotHere = errors.New("workers are adopted on Linux only")

func identify(int) (identity, error) { return identity{}, errNotHere }

func (identity) started() time.Time { return time.Now() }

func adopt(identity) (body, error) { return nil, errNotHere }

func (*directory) survivors([]record) ([]survivor, error) { return nil, nil }

// openOutput makes the pipe that a worker prints to.
func (*directory) openOutput(assignment) (in, out *os.File, problem, err error) {
	in, out, err = os.Pipe()
	return in, out, nil, err
}

func (*directory) reopenOutput(assignment) (*os.File, error) { return nil, errNotHere }

// reap waits for the process to end, then ends what is left of its group. Tools
// in groups of their own are left to notice by themselves that nobody reads
// them any more: only Linux shows who belongs to a session.
func (c *child) reap() {
	_ = c.cmd.Wait() // how it ended is in cmd.ProcessState
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
}
