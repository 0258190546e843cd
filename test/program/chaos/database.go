//go:build linux

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
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
// whenever it has ended, unless down is set.
type database struct {
	template databaseTemplate
	dir      string
	port     int
	log      *os.File

	mu      sync.Mutex
	cmd     *exec.Cmd // nil: no server is running
	exited  chan struct{}
	down    bool // the server must not be started
	closing bool
	loop    sync.WaitGroup
}

// databaseRestartDelay is the pause before the server is started again.
const databaseRestartDelay = 200 * time.Millisecond

// startDatabase copies the template, starts a server on the copy and waits
// until it answers.
func startDatabase(ctx context.Context, t databaseTemplate, dir string, port int) (*database, error) {
	d := &database{template: t, dir: filepath.Join(dir, "cluster"), port: port}
	if err := t.copyTo(ctx, d.dir); err != nil {
		return nil, err
	}
	var err error
	if d.log, err = os.CreateTemp("", "faults-postgres-"); err != nil {
		return nil, err
	}
	_ = os.Remove(d.log.Name())
	d.loop.Go(d.keepRunning)
	if err := d.waitReady(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *database) dsn(address string) string {
	return fmt.Sprintf("postgres://%s@%s/postgres?sslmode=disable", superuser, address)
}

func (d *database) address() string { return fmt.Sprintf("127.0.0.1:%d", d.port) }

// keepRunning starts the server whenever it is not running, until close.
func (d *database) keepRunning() {
	for {
		d.mu.Lock()
		if d.closing {
			d.mu.Unlock()
			return
		}
		if !d.down {
			d.start()
		}
		exited := d.exited
		d.mu.Unlock()
		if exited != nil {
			<-exited
		}
		time.Sleep(databaseRestartDelay)
	}
}

// start starts the server. The caller holds d.mu.
func (d *database) start() {
	cmd := d.template.command(context.Background(), "postgres", "-D", d.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", fmt.Sprintf("port=%d", d.port), "-c", "unix_socket_directories=",
		"-c", "max_connections=60", "-c", "shared_buffers=32MB", "-c", "huge_pages=off", "-c", "max_wal_size=64MB", "-c", "min_wal_size=16MB",
		"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "jit=off", "-c", "timezone=UTC")
	cmd.Stdout, cmd.Stderr = d.log, d.log
	if err := cmd.Start(); err != nil {
		_, _ = fmt.Fprintln(d.log, err)
		return
	}
	exited := make(chan struct{})
	d.cmd, d.exited = cmd, exited
	go func() {
		_ = cmd.Wait()
		d.mu.Lock()
		d.cmd, d.exited = nil, nil
		d.mu.Unlock()
		close(exited)
	}()
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

// stop sends a signal to the server and waits until it has ended. With stayDown
// it is not started again until allowStart.
func (d *database) stop(signal syscall.Signal, stayDown bool) {
	d.mu.Lock()
	d.down = d.down || stayDown
	cmd, exited := d.cmd, d.exited
	d.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(signal)
	select {
	case <-exited:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		<-exited
	}
}

// allowStart ends the effect of stayDown.
func (d *database) allowStart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = false
}

// waitReady blocks until the server answers.
func (d *database) waitReady(ctx context.Context) error {
	for {
		err := d.query(ctx, func(db *sql.DB) error {
			once, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			return db.PingContext(once)
		})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w: %w; its log ends:\n%s", ctx.Err(), err, d.logTail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// query calls use with a connection to the server that bypasses the link.
func (d *database) query(_ context.Context, use func(*sql.DB) error) error {
	db, err := sql.Open("postgres", d.dsn(d.address())+"&application_name=faults&connect_timeout=3")
	if err != nil {
		return err
	}
	defer db.Close()
	return use(db)
}

// logTail is the end of the server's log.
func (d *database) logTail() string {
	const most = 4 << 10
	info, err := d.log.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, most)
	n, _ := d.log.ReadAt(text, max(0, info.Size()-most))
	return string(text[:n])
}

// close stops the server for good.
func (d *database) close() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	d.stop(syscall.SIGINT, true)
	d.loop.Wait()
	return d.log.Close()
}

// databaseTemplate is a database directory that initdb makes once. Each seed
// with a server of its own gets a copy.
type databaseTemplate struct {
	binDir     string
	dir        string
	credential *syscall.Credential // nil: the current user; PostgreSQL refuses to run as root
}

// superuser is the role that the gateway connects as.
const superuser = "stream_monitor"

// newDatabaseTemplate runs initdb. It returns an error if no PostgreSQL server
// is installed.
func newDatabaseTemplate(ctx context.Context, dir string) (databaseTemplate, error) {
	t := databaseTemplate{dir: filepath.Join(dir, "cluster")}
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			candidates = append(candidates, path)
		}
	}
	if len(candidates) == 0 {
		return t, fmt.Errorf("no PostgreSQL server is installed: run make tools")
	}
	t.binDir = filepath.Dir(candidates[len(candidates)-1])
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			u, err = user.Lookup("nobody")
		}
		if err != nil {
			return t, fmt.Errorf("PostgreSQL does not run as root: %w", err)
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		t.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	if err := t.makeDir(t.dir); err != nil {
		return t, err
	}
	cmd := t.command(ctx, "initdb", "-D", t.dir, "-U", superuser, "--encoding=UTF8", "--no-locale", "--auth=trust", "--wal-segsize=4", "--no-instructions", "--no-sync")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return t, fmt.Errorf("initdb: %w: %s", err, out.String())
	}
	return t, nil
}

// makeDir makes a directory that belongs to the user that runs the server.
func (t databaseTemplate) makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if t.credential == nil {
		return nil
	}
	return os.Chown(dir, int(t.credential.Uid), int(t.credential.Gid))
}

// command prepares one of PostgreSQL's programs with a minimal environment.
func (t databaseTemplate) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(t.binDir, name), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: t.credential}
	return cmd
}

func (t databaseTemplate) copyTo(ctx context.Context, dir string) error {
	if err := t.makeDir(dir); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "cp", "-a", t.dir+"/.", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy the database: %w: %s", err, out)
	}
	return nil
}
