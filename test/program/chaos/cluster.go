//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// cluster is a database that was made once, to be copied for every seed that
// wants a server of its own.
type cluster struct {
	bin string
	dir string
	who *syscall.Credential // nil: who runs this; PostgreSQL does not run as root
}

// superuser is whom the gateway connects as.
const superuser = "stream_monitor"

// newCluster makes it.
func newCluster(ctx context.Context, dir string) (cluster, error) {
	c := cluster{dir: filepath.Join(dir, "cluster")}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return c, fmt.Errorf("no PostgreSQL server is installed: run make tools")
	}
	c.bin = filepath.Dir(found[len(found)-1])
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			u, err = user.Lookup("nobody")
		}
		if err != nil {
			return c, fmt.Errorf("PostgreSQL does not run as root: %w", err)
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		c.who = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	if err := c.room(c.dir); err != nil {
		return c, err
	}
	cmd := c.command(ctx, "initdb", "-D", c.dir, "-U", superuser, "--encoding=UTF8", "--no-locale", "--auth=trust", "--wal-segsize=4", "--no-instructions", "--no-sync")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return c, fmt.Errorf("initdb: %w: %s", err, out.String())
	}
	return c, nil
}

// room makes a directory that belongs to who runs the server.
func (c cluster) room(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if c.who == nil {
		return nil
	}
	return os.Chown(dir, int(c.who.Uid), int(c.who.Gid))
}

// command runs one of PostgreSQL's programs, with nothing of our environment.
func (c cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.who}
	return cmd
}

// copyTo copies it.
func (c cluster) copyTo(ctx context.Context, dir string) error {
	if err := c.room(dir); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "cp", "-a", c.dir+"/.", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy the database: %w: %s", err, out)
	}
	return nil
}
