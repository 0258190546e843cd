package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// logTimeout is how long a line waits for room in the pipe.
const logTimeout = 100 * time.Millisecond

// newWorkerLog lets a worker continue when no process reads its log. While the pipe w is
// full, it drops lines; afterwards it logs how many. It returns w unchanged if w is not a
// pipe. The pipe becomes non-blocking. So the output of a panic cannot block either, and
// the panic ends the process.
func newWorkerLog(w io.Writer, id monitor.ID) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return w
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return w
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return w
	}
	if errControl := conn.Control(func(fd uintptr) { err = syscall.SetNonblock(int(fd), true) }); err != nil || errControl != nil {
		return w
	}
	return &lossyLog{pipe: conn, id: id, timeout: logTimeout}
}

// lossyLog writes log lines to a pipe. Write takes whole lines and never fails.
type lossyLog struct {
	pipe    syscall.RawConn
	id      monitor.ID
	timeout time.Duration // logTimeout, except in tests

	mu      sync.Mutex
	dropped int  // lines dropped since the last complete line
	partial bool // the newest dropped line was written in part
}

func (l *lossyLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Only the first line that is dropped waits for room. The lines after it do not wait,
	// so that a log without a reader does not slow the worker down.
	if l.dropped > 0 && !l.write(l.droppedNotice(), 0) || !l.write(line, l.timeout) {
		l.dropped++
	}
	return len(line), nil
}

// write reports whether the whole line was written within timeout.
func (l *lossyLog) write(line []byte, timeout time.Duration) (whole bool) {
	if l.partial {
		line = append([]byte("\n"), line...)
	}
	var n int
	err := l.pipe.Control(func(fd uintptr) { n = writeWithin(int(fd), line, timeout) })
	if n == 0 || err != nil {
		return false
	}
	l.partial = n < len(line)
	if !l.partial {
		l.dropped = 0
	}
	return !l.partial
}

// writeWithin writes to a non-blocking pipe until p is written or timeout has
// passed, and returns the number of bytes written.
func writeWithin(fd int, p []byte, timeout time.Duration) (n int) {
	for end := time.Now().Add(timeout); n < len(p); {
		wrote, err := unix.Write(fd, p[n:])
		n += max(wrote, 0)
		left := time.Until(end)
		switch {
		case err == nil, errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EAGAIN), left <= 0:
			return n
		default:
			room := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}} //nolint:gosec // a descriptor is an int32 everywhere
			_, _ = unix.Poll(room, int(left.Milliseconds())+1)
		}
	}
	return n
}

// droppedNotice is the line that says how many lines were dropped.
func (l *lossyLog) droppedNotice() []byte {
	var b bytes.Buffer
	log, err := logging.New(&b, "warn", time.Local)
	if err != nil {
		return nil
	}
	log.Warn("log lines were dropped, because nobody read them in time",
		"component", "worker", "monitor_id", string(l.id), "lines", l.dropped)
	return b.Bytes()
}
