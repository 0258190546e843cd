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

// heartbeat is how often an adopted worker is seen to be alive.
const heartbeat = time.Second

// adopted is a worker that an earlier gateway has started. It is nobody's child
// here: its end is told by a pidfd, and how it ended by nobody.
type adopted struct {
	pid   int
	pidfd *os.File // known to the poller: waiting takes no thread
	alive atomic.Uint64
}

// adopt takes hold of a process. Errors: it has ended, or cannot be held.
func adopt(who identity) (body, error) {
	fd, err := unix.PidfdOpen(who.PID, 0)
	if errors.Is(err, unix.ENOSYS) {
		return nil, errors.New("adoption needs Linux 5.3 or newer")
	}
	if err != nil {
		return nil, fmt.Errorf("hold process %d: %w", who.PID, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("hold process %d: %w", who.PID, err)
	}
	a := &adopted{pid: who.PID, pidfd: os.NewFile(uintptr(fd), "pidfd")}
	// Who is there now has been there when the number was opened: it was started
	// before anybody looked.
	if s, ok := readStat(who.PID); !ok || s.over() || s.start != who.Start {
		_ = a.pidfd.Close()
		return nil, fmt.Errorf("process %d has ended: %w", who.PID, os.ErrProcessDone)
	}
	a.look()
	return a, nil
}

// ended tells whether the process of a pidfd has ended.
func ended(fd uintptr) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a descriptor is an int32 everywhere
	n, err := unix.Poll(poll, 0)
	return err == nil && n > 0
}

// look tells whether it is alive, and notes when it was.
func (a *adopted) look() (alive bool) {
	now := sinceBoot()
	conn, err := a.pidfd.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) { alive = !ended(fd) })
	if err == nil && alive {
		a.alive.Store(now)
	}
	return err == nil && alive
}

// signal reaches the worker alone, not its group: the number of a group whose
// leader may be gone may be another's. A worker's tools are swept up after it.
func (a *adopted) signal(s syscall.Signal) {
	conn, err := a.pidfd.SyscallConn()
	if err != nil || !a.look() {
		return
	}
	_ = conn.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), s, nil, 0) })
}

func (a *adopted) wait() ending {
	defer func() { _ = a.pidfd.Close() }()
	conn, err := a.pidfd.SyscallConn()
	for err == nil && a.look() {
		_ = a.pidfd.SetReadDeadline(time.Now().Add(heartbeat))
		_ = conn.Read(ended) // or the deadline
	}
	a.sweep()
	return ending{detail: "an earlier gateway had started it, so how it ended is not known"}
}

// sweep ends what the worker has left. Others have reaped it, so once nothing of
// its session is left its number may be anybody's, and so may a session of that
// number. But a session does not change hands while its leader lives, and nobody
// joins one but by being born there: who was in it when the worker was last
// seen alive is the worker's. What was started in the second after that is left to
// notice by itself that nobody reads it any more.
func (a *adopted) sweep() {
	alive := a.alive.Load()
	sweep(a.pid, func(s stat) bool { return s.start < alive })
}
