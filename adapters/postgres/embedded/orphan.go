package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
)

// markerSetting is a custom setting that PostgreSQL ignores. Its value, the path of
// the cluster, appears in the server's command line, where people and endOrphan
// read it.
const markerSetting = "stream_monitor.data_directory"

// maxPIDFile is the largest part of postmaster.pid that is read, in bytes.
const maxPIDFile = 4096

// procfs reports whether /proc shows the processes of this machine.
var procfs = func() bool {
	_, err := os.Stat("/proc/self/fd")
	return err == nil
}()

// pidFile is the content of postmaster.pid, which the server writes.
type pidFile struct {
	pid   int
	ready bool // the server accepts connections
}

// readPID reads postmaster.pid; ok is false if it is missing or incomplete.
func (c cluster) readPID() (st pidFile, ok bool) {
	f, err := os.OpenFile(c.pidPath(), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return pidFile{}, false
	}
	defer func() { _ = f.Close() }()
	text := make([]byte, maxPIDFile)
	n, err := f.Read(text)
	if err != nil {
		return pidFile{}, false
	}
	lines := strings.Split(string(text[:n]), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 1 {
		return pidFile{}, false
	}
	const statusLine = 7 // LOCK_FILE_LINE_PM_STATUS of PostgreSQL, counted from 0
	return pidFile{pid, len(lines) > statusLine && strings.TrimSpace(lines[statusLine]) == "ready"}, true
}

func (c cluster) pidPath() string { return filepath.Join(c.dir, "postmaster.pid") }

// endOrphan ends a server that outlived its gateway. The caller holds the lock on
// DATA_DIR, so no running gateway uses the server. A fast shutdown and the next
// start take 0.25 s together; after an immediate shutdown the next start must
// recover as after a crash.
func (c cluster) endOrphan(ctx context.Context, log *slog.Logger) error {
	st, ok := c.readPID()
	if !ok || !processExists(st.pid) {
		return nil // the server itself replaces a stale file
	}
	if !procfs {
		return fmt.Errorf("a server may still run on %s, as process %d: end it, or remove %s if it is something else", c.dir, st.pid, c.pidPath())
	}
	if !c.isServer(st.pid) {
		// Another process has this pid now. If it belongs to the same user, the new
		// server would mistake it for a running one and not start.
		log.Warn("removing a stale postmaster.pid, the database then starts as usual", "pid", st.pid)
		for _, stale := range []string{c.pidPath(), filepath.Join(c.dir, ".s.PGSQL."+port+".lock")} {
			if err := os.Remove(stale); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	log.Warn("ending a database server that outlived its gateway", "pid", st.pid)
	for _, step := range []struct {
		signal syscall.Signal
		grace  time.Duration
	}{{syscall.SIGINT, fastShutdownTimeout}, {syscall.SIGQUIT, immediateShutdownTimeout}, {syscall.SIGKILL, immediateShutdownTimeout}} {
		if err := syscall.Kill(st.pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end the server that runs on %s as process %d: %w", c.dir, st.pid, err)
		}
		for until := time.Now().Add(step.grace); time.Now().Before(until); {
			if !c.isServer(st.pid) {
				return nil
			}
			if !wait.For(ctx, pollInterval) {
				return context.Cause(ctx)
			}
		}
	}
	return fmt.Errorf("the server that runs on %s as process %d does not end", c.dir, st.pid)
}

// processExists reports whether a process with this pid exists, whoever owns it.
func processExists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isServer reports whether pid is a running server of this cluster. The command line
// of a zombie is empty.
func (c cluster) isServer(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	args := bytes.Split(line, []byte{0})
	return filepath.Base(string(args[0])) == "postgres" &&
		slices.ContainsFunc(args, func(a []byte) bool { return string(a) == markerSetting+"="+c.dir })
}
