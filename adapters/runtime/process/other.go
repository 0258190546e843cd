//go:build !linux

package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// adoptionSupported reports that a worker that outlives its gateway can be adopted.
const adoptionSupported = false

// errAdoptionUnsupported says that only Linux identifies a process, and reports
// the end of one that is not a child.
var errAdoptionUnsupported = errors.New("workers are adopted on Linux only")

func identifyProcess(int) (processIdentity, error) { return processIdentity{}, errAdoptionUnsupported }

func (processIdentity) startTime() time.Time { return time.Now() }

func adoptProcess(processIdentity) (workerProcess, error) { return nil, errAdoptionUnsupported }

func (*runDirectory) findWorkers([]record) ([]foundWorker, error) { return nil, nil }

// openOutput makes the pipe that a worker prints to.
func (*runDirectory) openOutput(workerKey) (in, out *os.File, problem, err error) {
	in, out, err = os.Pipe()
	return in, out, nil, err
}

func (*runDirectory) reopenOutput(workerKey) (*os.File, error) { return nil, errAdoptionUnsupported }

// reap waits for the process to end and kills what is left of its group. Tools
// in groups of their own end by themselves when their output is not read: only
// Linux shows which processes belong to a session.
func (c *childProcess) reap() {
	_ = c.cmd.Wait() // how it ended is in cmd.ProcessState
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
}
