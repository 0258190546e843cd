package process

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// aliveCheckInterval is how often an adopted process is checked. It also bounds
// what a dead worker's tools may escape from killSession.
const aliveCheckInterval = time.Second

// adoptedProcess is a worker that an earlier gateway has started. It is not a
// child of this process: a pidfd reports its end, and nothing reports its exit
// status.
type adoptedProcess struct {
	pid      int
	pidfd    *os.File      // in the runtime poller: waiting takes no thread
	lastSeen atomic.Uint64 // in ticks since boot
}

// adoptProcess opens a running process. Errors: os.ErrProcessDone when it has
// ended; otherwise it cannot be adopted.
func adoptProcess(p processIdentity) (workerProcess, error) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ENOSYS) {
		return nil, errors.New("adoption needs Linux 5.3 or newer")
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", p.PID, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("open process %d: %w", p.PID, err)
	}
	a := &adoptedProcess{pid: p.PID, pidfd: os.NewFile(uintptr(fd), "pidfd")}
	// The pidfd holds the process that had this id when it was opened. Its start time,
	// read afterwards, shows whether that is the recorded process.
	if s, ok := readStat(p.PID); !ok || s.ended() || s.start != p.Start {
		_ = a.pidfd.Close()
		return nil, fmt.Errorf("process %d has ended: %w", p.PID, os.ErrProcessDone)
	}
	a.checkAlive()
	return a, nil
}

// pidfdEnded reports whether the process of a pidfd has ended.
func pidfdEnded(fd uintptr) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a descriptor is an int32 everywhere
	n, err := unix.Poll(poll, 0)
	return err == nil && n > 0
}

// checkAlive reports whether the process runs, and records when.
func (a *adoptedProcess) checkAlive() (alive bool) {
	now := ticksSinceBoot()
	conn, err := a.pidfd.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) { alive = !pidfdEnded(fd) })
	if err == nil && alive {
		a.lastSeen.Store(now)
	}
	return err == nil && alive
}

// signal reaches the worker alone, not its group: once its leader is gone, the
// group id may belong to another group. The worker's tools are killed after it.
func (a *adoptedProcess) signal(s syscall.Signal) {
	conn, err := a.pidfd.SyscallConn()
	if err != nil || !a.checkAlive() {
		return
	}
	_ = conn.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), s, nil, 0) })
}

func (a *adoptedProcess) wait() exitStatus {
	defer func() { _ = a.pidfd.Close() }()
	conn, err := a.pidfd.SyscallConn()
	for err == nil && a.checkAlive() {
		_ = a.pidfd.SetReadDeadline(time.Now().Add(aliveCheckInterval))
		_ = conn.Read(pidfdEnded) // or the deadline
	}
	a.killTools()
	return exitStatus{detail: "an earlier gateway had started it, so how it ended is not known"}
}

// killTools kills what the worker has left in its session. Its process id, and
// so its session id, may be reused after its end. But nothing else could join
// its session while the worker lived, so every process that was in it at
// lastSeen is the worker's. A tool started after that ends by itself when its
// output is not read.
func (a *adoptedProcess) killTools() {
	lastSeen := a.lastSeen.Load()
	killSession(a.pid, func(s procStat) bool { return s.start < lastSeen })
}
