//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	_ "github.com/lib/pq" // registers the driver
)

// database is the PostgreSQL server of one environment. It is started again
// whenever it has ended, until close.
type database struct {
	dir        string
	binDir     string
	port       int
	credential *syscall.Credential // nil: the current user; PostgreSQL refuses to run as root
	log        *os.File
	end        context.CancelFunc
	loop       sync.WaitGroup

	mu   sync.Mutex
	cmd  *exec.Cmd     // nil: no server is running
	away time.Duration // how long the server stays down after its next end
}

// superuser is the role that the gateway connects as.
const superuser = "stream_monitor"

// databaseRestartDelay is the least pause before the server is started again.
const databaseRestartDelay = 200 * time.Millisecond

// startDatabase makes a database in a directory and starts a server on a port. It does not
// wait until the server answers. It returns an error if no PostgreSQL is installed.
func startDatabase(ctx context.Context, dir string, port int) (*database, error) {
	d := &database{dir: filepath.Join(dir, "cluster"), port: port}
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			candidates = append(candidates, path)
		}
	}
	if len(candidates) == 0 {
		return nil, fmt.Errorf("no PostgreSQL server is installed: run make tools")
	}
	d.binDir = filepath.Dir(candidates[len(candidates)-1])
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			u, err = user.Lookup("nobody")
		}
		if err != nil {
			return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		d.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(d.dir, int(uid), int(gid)); err != nil {
			return nil, err
		}
	}
	initdb := d.command(ctx, "initdb", "-D", d.dir, "-U", superuser, "--encoding=UTF8", "--no-locale", "--auth=trust", "--wal-segsize=4", "--no-instructions", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	var err error
	if d.log, err = os.Create(filepath.Join(dir, "..", "postgres.log")); err != nil {
		return nil, err
	}
	ctx, d.end = context.WithCancel(context.WithoutCancel(ctx))
	d.loop.Go(func() { d.keepRunning(ctx) })
	return d, nil
}

// command prepares one of PostgreSQL's programs with a minimal environment.
func (d *database) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(d.binDir, name), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: d.credential}
	return cmd
}

func (d *database) dsn(address string) string {
	return fmt.Sprintf("postgres://%s@%s/postgres?sslmode=disable", superuser, address)
}

func (d *database) address() string { return fmt.Sprintf("%s:%d", localhost, d.port) }

// keepRunning starts the server whenever it is not running, until ctx is done.
func (d *database) keepRunning(ctx context.Context) {
	for ctx.Err() == nil {
		cmd := d.command(ctx, "postgres", "-D", d.dir,
			"-c", "listen_addresses="+localhost, "-c", fmt.Sprintf("port=%d", d.port), "-c", "unix_socket_directories=",
			"-c", "max_connections=60", "-c", "shared_buffers=32MB", "-c", "huge_pages=off", "-c", "max_wal_size=64MB", "-c", "min_wal_size=16MB",
			"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "jit=off", "-c", "timezone=UTC")
		cmd.Stdout, cmd.Stderr = d.log, d.log
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
		cmd.WaitDelay = 10 * time.Second
		if err := cmd.Start(); err != nil {
			_, _ = fmt.Fprintln(d.log, err)
		} else {
			d.setRunning(cmd)
			_ = cmd.Wait()
		}
		pause(ctx, max(databaseRestartDelay, d.setRunning(nil)))
	}
}

// setRunning records the running server, and returns how long it stays down when it has ended.
func (d *database) setRunning(cmd *exec.Cmd) (away time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	away, d.cmd = d.away, cmd
	d.away = 0
	return away
}

// pid is the server's process id; 0 if it is not running.
func (d *database) pid() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd == nil {
		return 0
	}
	return d.cmd.Process.Pid
}

// stop lets the server end its connections and itself. It then stays down for a while.
func (d *database) stop(away time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd != nil {
		d.away = away
		_ = d.cmd.Process.Signal(syscall.SIGINT)
	}
}

// close stops the server for good.
func (d *database) close() {
	d.end()
	d.loop.Wait()
	_ = d.log.Close()
}
