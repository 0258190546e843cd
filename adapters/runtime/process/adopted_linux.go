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

// aliveCheckInterval is how often an adopted process is checked. killTools does not kill
// a tool that the worker started after the last check.
const aliveCheckInterval = time.Second

// adoptedProcess is a worker that an earlier gateway started. Because it is no child of
// this process, a pidfd reports its end, and its exit status is unknown.
type adoptedProcess struct {
	pid      int
	pidfd    *os.File      // in Go's poller, so that waiting occupies no thread
	lastSeen atomic.Uint64 // when it was last seen alive, in ticks since boot
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
	// The pidfd is of the process that had this ID when the pidfd was opened. The start
	// time, read afterwards, shows whether it is the recorded process.
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

// checkAlive reports whether the process runs. If it does, it sets lastSeen.
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

// signal signals the worker alone, not its process group: after the worker's end another
// group may have the group's ID. wait kills the worker's tools.
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
	return exitStatus{detail: "how it ended is unknown, because an earlier gateway started it"}
}

// killTools kills the processes that the worker has left in its session. Another session
// may have the same ID after the worker's end, so killTools kills only processes that
// started before lastSeen. A tool that started later ends by itself when nobody reads its
// output.
func (a *adoptedProcess) killTools() {
	lastSeen := a.lastSeen.Load()
	killSession(a.pid, func(s procStat) bool { return s.start < lastSeen })
}
