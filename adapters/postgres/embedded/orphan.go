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
)

// ownParameter is a setting that means nothing to the server. Its value, the
// path of the cluster, shows in the server's command line: for people who look
// at the processes, and for endOrphan.
const ownParameter = "stream_monitor.data_directory"

// maxPIDFile bounds what is read of postmaster.pid, in bytes.
const maxPIDFile = 4096

// procfs tells whether processes can be looked at.
var procfs = func() bool {
	_, err := os.Stat("/proc/self/fd")
	return err == nil
}()

// pidFile is what a server says of itself in postmaster.pid.
type pidFile struct {
	pid   int
	ready bool // it accepts connections
}

// readPID reads postmaster.pid. One that is missing or half written says
// nothing.
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

// endOrphan ends a server that outlived the gateway that started it. The
// caller holds the lock on DATA_DIR, so no living gateway uses it. A fast shutdown
// with a start after it takes a quarter of a second, clients or not; after an
// immediate one the start has a crash to recover from.
func (c cluster) endOrphan(ctx context.Context, log *slog.Logger) error {
	st, ok := c.readPID()
	if !ok || !alive(st.pid) {
		return nil // a stale file the server sees through by itself
	}
	if !procfs {
		return fmt.Errorf("a server may still run on %s, as process %d: end it, or remove %s if it is something else", c.dir, st.pid, c.pidPath())
	}
	if !c.runs(st.pid) {
		// The number was given to another process. The server would take it for
		// a sibling and refuse to start if both have the same user.
		log.Warn("removing a stale postmaster.pid", "pid", st.pid)
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
	}{{syscall.SIGINT, stopGrace}, {syscall.SIGQUIT, killGrace}, {syscall.SIGKILL, killGrace}} {
		if err := syscall.Kill(st.pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end the server that runs on %s as process %d: %w", c.dir, st.pid, err)
		}
		for until := time.Now().Add(step.grace); time.Now().Before(until); {
			if !c.runs(st.pid) {
				return nil
			}
			if err := sleep(ctx, poll); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("the server that runs on %s as process %d does not end", c.dir, st.pid)
}

// alive tells whether there is such a process, whoever owns it.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// runs tells whether pid is a server of this cluster. A zombie is none: its
// command line is empty.
func (c cluster) runs(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	args := bytes.Split(line, []byte{0})
	return filepath.Base(string(args[0])) == "postgres" &&
		slices.ContainsFunc(args, func(a []byte) bool { return string(a) == ownParameter+"="+c.dir })
}
