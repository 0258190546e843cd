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

// logPatience is how long a line of a worker's log waits for its reader.
const logPatience = 100 * time.Millisecond

// lossy lets a worker go on when nobody reads its log: lines that a pipe has no
// room for are dropped, and how many is said once there is room again. Other
// writers than pipes are given back as they are. A pipe stays non-blocking, for
// the runtime's last words, too: a panic that nobody reads ends the process.
func lossy(w io.Writer, id monitor.ID) io.Writer {
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
	return &lossyLog{pipe: conn, id: id}
}

// lossyLog is a log in a pipe. Its Write takes whole lines and does not fail.
type lossyLog struct {
	pipe syscall.RawConn
	id   monitor.ID

	mu      sync.Mutex
	dropped int  // lines since the last that came through
	torn    bool // the last of them was begun
}

func (l *lossyLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Only the first of many lines waits: a worker that logs much is not slowed
	// down for as long as nobody reads.
	if l.dropped > 0 && !l.put(l.confession(), 0) || !l.put(line, logPatience) {
		l.dropped++
	}
	return len(line), nil
}

// put tells whether a line came through, whole.
func (l *lossyLog) put(line []byte, patience time.Duration) (whole bool) {
	if l.torn {
		line = append([]byte("\n"), line...)
	}
	var n int
	err := l.pipe.Control(func(fd uintptr) { n = writeWithin(int(fd), line, patience) })
	if n == 0 || err != nil {
		return false
	}
	l.torn = n < len(line)
	if !l.torn {
		l.dropped = 0
	}
	return !l.torn
}

// writeWithin writes as much to a non-blocking pipe as there is room for before
// patience ends.
func writeWithin(fd int, p []byte, patience time.Duration) (n int) {
	for end := time.Now().Add(patience); n < len(p); {
		wrote, err := unix.Write(fd, p[n:])
		n += max(wrote, 0)
		left := time.Until(end)
		switch {
		case err == nil, errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EAGAIN), left <= 0:
			return n
		default:
			// Woken too early it finds no room, and comes back.
			room := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}} //nolint:gosec // a descriptor is an int32 everywhere
			_, _ = unix.Poll(room, int(left.Milliseconds())+1)
		}
	}
	return n
}

// confession is a line that says how many are missing.
func (l *lossyLog) confession() []byte {
	var b bytes.Buffer
	log, err := logging.New(&b, "warn", time.Local)
	if err != nil {
		return nil
	}
	log.Warn("log lines were dropped, because nobody read them in time",
		"component", "worker", "monitor_id", string(l.id), "lines", l.dropped)
	return b.Bytes()
}
