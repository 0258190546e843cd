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

	_ "github.com/lib/pq" // the driver
)

// database is a PostgreSQL of a site's own, which comes back when it has died,
// as an operator's would.
type database struct {
	template  databaseTemplate
	dir       string
	port      int
	clockFile string // libfaketime's file; empty: it is told the truth
	log       *os.File

	mu      sync.Mutex
	cmd     *exec.Cmd // the server that runs; nil: none
	exited  chan struct{}
	down    bool // it is not to be started
	closing bool
	loop    sync.WaitGroup
}

// restartPause is how long it takes to come back.
const databaseRestartDelay = 200 * time.Millisecond

// startDatabase starts it on a copy of the cluster, and keeps it.
func startDatabase(ctx context.Context, t databaseTemplate, dir string, port int, clock string) (*database, error) {
	d := &database{template: t, dir: filepath.Join(dir, "cluster"), port: port, clockFile: clock}
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

// keep starts the server whenever it does not run.
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

// begin starts the server; d.mu is held.
func (d *database) start() {
	cmd := d.template.command(context.Background(), "postgres", "-D", d.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", fmt.Sprintf("port=%d", d.port), "-c", "unix_socket_directories=",
		"-c", "max_connections=60", "-c", "shared_buffers=32MB", "-c", "huge_pages=off", "-c", "max_wal_size=64MB", "-c", "min_wal_size=16MB",
		"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "jit=off", "-c", "timezone=UTC")
	if d.clockFile != "" {
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+libfaketime(), "FAKETIME_TIMESTAMP_FILE="+d.clockFile,
			"FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_RESET=1")
	}
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

// pid is the server's; 0: none runs.
func (d *database) pid() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd == nil {
		return 0
	}
	return d.cmd.Process.Pid
}

// end ends the server with a signal and waits until it is gone; it comes back
// unless leave is true.
func (d *database) stop(s syscall.Signal, leave bool) {
	d.mu.Lock()
	d.down = d.down || leave
	cmd, exited := d.cmd, d.exited
	d.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(s)
	select {
	case <-exited:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		<-exited
	}
}

// comeBack ends the time away.
func (d *database) allowStart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = false
}

// answers blocks until the server answers.
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

// ask opens the database past the pipe.
func (d *database) query(_ context.Context, question func(*sql.DB) error) error {
	db, err := sql.Open("postgres", d.dsn(d.address())+"&application_name=faults&connect_timeout=3")
	if err != nil {
		return err
	}
	defer db.Close()
	return question(db)
}

// words is the end of its log.
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

// close ends it for good.
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

// cluster is a database that was made once, to be copied for every seed that
// wants a server of its own.
type databaseTemplate struct {
	binDir     string
	dir        string
	credential *syscall.Credential // nil: who runs this; PostgreSQL does not run as root
}

// superuser is whom the gateway connects as.
const superuser = "stream_monitor"

// newCluster makes it.
func newDatabaseTemplate(ctx context.Context, dir string) (databaseTemplate, error) {
	t := databaseTemplate{dir: filepath.Join(dir, "cluster")}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return t, fmt.Errorf("no PostgreSQL server is installed: run make tools")
	}
	t.binDir = filepath.Dir(found[len(found)-1])
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

// room makes a directory that belongs to who runs the server.
func (t databaseTemplate) makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if t.credential == nil {
		return nil
	}
	return os.Chown(dir, int(t.credential.Uid), int(t.credential.Gid))
}

// command runs one of PostgreSQL's programs, with nothing of our environment.
func (t databaseTemplate) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(t.binDir, name), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: t.credential}
	return cmd
}

// copyTo copies it.
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
