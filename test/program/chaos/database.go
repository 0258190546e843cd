//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	_ "github.com/lib/pq" // the driver
)

// database is a PostgreSQL of a site's own, which comes back when it has died,
// as an operator's would.
type database struct {
	cluster cluster
	dir     string
	port    int
	clock   string // libfaketime's file; empty: it is told the truth
	log     *os.File

	mu      sync.Mutex
	cmd     *exec.Cmd // the server that runs; nil: none
	exited  chan struct{}
	away    bool // it is not to be started
	closing bool
	keeping sync.WaitGroup
}

// restartPause is how long it takes to come back.
const restartPause = 200 * time.Millisecond

// startDatabase starts it on a copy of the cluster, and keeps it.
func startDatabase(ctx context.Context, c cluster, dir string, port int, clock string) (*database, error) {
	d := &database{cluster: c, dir: filepath.Join(dir, "cluster"), port: port, clock: clock}
	if err := c.copyTo(ctx, d.dir); err != nil {
		return nil, err
	}
	var err error
	if d.log, err = os.CreateTemp("", "faults-postgres-"); err != nil {
		return nil, err
	}
	_ = os.Remove(d.log.Name())
	d.keeping.Go(d.keep)
	if err := d.answers(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *database) dsn(address string) string {
	return fmt.Sprintf("postgres://%s@%s/postgres?sslmode=disable", superuser, address)
}

func (d *database) address() string { return fmt.Sprintf("127.0.0.1:%d", d.port) }

// keep starts the server whenever it does not run.
func (d *database) keep() {
	for {
		d.mu.Lock()
		if d.closing {
			d.mu.Unlock()
			return
		}
		if !d.away {
			d.begin()
		}
		exited := d.exited
		d.mu.Unlock()
		if exited != nil {
			<-exited
		}
		time.Sleep(restartPause)
	}
}

// begin starts the server; d.mu is held.
func (d *database) begin() {
	cmd := d.cluster.command(context.Background(), "postgres", "-D", d.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", fmt.Sprintf("port=%d", d.port), "-c", "unix_socket_directories=",
		"-c", "max_connections=60", "-c", "shared_buffers=32MB", "-c", "huge_pages=off", "-c", "max_wal_size=64MB", "-c", "min_wal_size=16MB",
		"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "jit=off", "-c", "timezone=UTC")
	if d.clock != "" {
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+libfaketime(), "FAKETIME_TIMESTAMP_FILE="+d.clock,
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
func (d *database) end(s syscall.Signal, leave bool) {
	d.mu.Lock()
	d.away = d.away || leave
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
func (d *database) comeBack() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = false
}

// answers blocks until the server answers.
func (d *database) answers(ctx context.Context) error {
	for {
		err := d.ask(ctx, func(db *sql.DB) error {
			once, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			return db.PingContext(once)
		})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w: %w; its log ends:\n%s", ctx.Err(), err, d.words())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ask opens the database past the pipe.
func (d *database) ask(_ context.Context, question func(*sql.DB) error) error {
	db, err := sql.Open("postgres", d.dsn(d.address())+"&application_name=faults&connect_timeout=3")
	if err != nil {
		return err
	}
	defer db.Close()
	return question(db)
}

// words is the end of its log.
func (d *database) words() string {
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
	d.end(syscall.SIGINT, true)
	d.keeping.Wait()
	return d.log.Close()
}
