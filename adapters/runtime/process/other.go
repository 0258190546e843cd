//go:build !linux

package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// adoptionSupported reports that the next gateway cannot adopt a worker.
const adoptionSupported = false

// errAdoptionUnsupported says that only Linux can identify a process, and report the end of
// a process that is not a child.
var errAdoptionUnsupported = errors.New("workers are adopted on Linux only")

func identifyProcess(int) (processIdentity, error) { return processIdentity{}, errAdoptionUnsupported }

func (processIdentity) startTime() time.Time { return time.Now() }

func adoptProcess(processIdentity) (workerProcess, error) { return nil, errAdoptionUnsupported }

func (*runDirectory) findWorkers([]record) ([]record, error) { return nil, nil }

// openOutput makes the pipe that a worker prints to.
func (*runDirectory) openOutput(workerKey) (in, out *os.File, problem, err error) {
	in, out, err = os.Pipe()
	return in, out, nil, err
}

func (*runDirectory) reopenOutput(workerKey) (*os.File, error) { return nil, errAdoptionUnsupported }

// reap waits for the process to end and kills the rest of its process group. Only Linux
// shows which other processes are in its session. They end by themselves when nobody reads
// their output.
func (c *childProcess) reap() {
	_ = c.cmd.Wait() // how it ended is in cmd.ProcessState
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
}
