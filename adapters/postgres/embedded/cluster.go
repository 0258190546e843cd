package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// superuser and database are what the store connects as and to.
	superuser = "stream_monitor"
	database  = "postgres"

	// initTimeout bounds initdb, which takes half a second on an idle machine.
	initTimeout = 2 * time.Minute
)

// cluster is the data directory.
type cluster struct {
	dir string // absolute, without links
	who identity
	bin binaries
}

// found tells which major version the cluster at dir is of; 0: there is none.
func found(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	switch {
	case err == nil:
		major, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return 0, fmt.Errorf("%s: PG_VERSION holds %.40q, which is no version of PostgreSQL since 10; nothing was touched", dir, text)
		}
		return major, nil
	case !errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("look for a database in %s: %w", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for a database in %s: %w", dir, err)
	}
	return 0, fmt.Errorf("%s is not empty and holds no PostgreSQL database; nothing was touched: move it away or choose another DATA_DIR", dir)
}

// create makes the cluster. It is made beside its place and moved there when
// complete, so one that was interrupted is never taken for a database.
func (c cluster) create(ctx context.Context) (err error) {
	draft := c.dir + ".new"
	defer func() {
		if err != nil {
			_ = os.RemoveAll(draft) // the disk may be full; the next start tries again
		}
	}()
	if err := os.RemoveAll(draft); err != nil {
		return fmt.Errorf("remove an unfinished database: %w", err)
	}
	if err := os.Mkdir(draft, 0o700); err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	dir, err := os.Open(draft)
	if err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	defer func() { _ = dir.Close() }()
	if err := c.who.own(dir); err != nil {
		return fmt.Errorf("give %s to user %d: %w", draft, c.who.uid(), err)
	}

	ctx, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, c.bin.initdb(),
		"-D", c.handOver(dir), "-U", superuser,
		"--encoding=UTF8", "--no-locale", "--auth=peer", "--wal-segsize=4", "--no-instructions")
	c.prepare(cmd, dir)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // what it has started as well
	cmd.WaitDelay = drainTimeout
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("create the database: initdb: %w", context.Cause(ctx))
		}
		return fmt.Errorf("create the database: initdb: %w: %.500s", err, telling(out.String()))
	}
	if err := os.Rename(draft, c.dir); err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	return nil
}

// admit lets in the user that runs this process, and nobody else. It is
// looked at at every start: that user may be another one than last time.
func (c cluster) admit() error {
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("look up who runs this process: %w", err)
	}
	files := map[string]string{
		"pg_hba.conf":   "local all all peer map=gateway\n",
		"pg_ident.conf": fmt.Sprintf("gateway %q %s\n", me.Username, superuser),
	}
	for name, text := range files {
		if c.holds(name, text) {
			continue // so that a full disk is no obstacle
		}
		if err := c.write(name, text); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// holds tells whether a file of the cluster is that text.
func (c cluster) holds(name, text string) bool {
	f, err := os.OpenFile(filepath.Join(c.dir, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	was := make([]byte, len(text)+1)
	n, err := io.ReadFull(f, was)
	return errors.Is(err, io.ErrUnexpectedEOF) && string(was[:n]) == text
}

// write replaces a file of the cluster as a whole. The directory belongs to
// another user, so nothing in it is followed or opened for writing.
func (c cluster) write(name, text string) error {
	f, err := os.CreateTemp(c.dir, name+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename, as it should
	_, err = f.WriteString(text)
	if err := errors.Join(err, c.who.own(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(c.dir, name))
}

// handOver is the name by which the server reaches its directory. When it runs
// as another user it may not be able to walk there from the root, so it is
// handed the open directory instead of the path.
func (c cluster) handOver(dir *os.File) string {
	if c.who.dropped() && procfs {
		return "/proc/self/fd/3"
	}
	return dir.Name()
}

// prepare sets what all children have in common.
func (c cluster) prepare(cmd *exec.Cmd, dir *os.File) {
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{dir}
	cmd.SysProcAttr = c.who.attributes()
	// Nothing of the gateway's environment: it holds secrets, and PG* variables
	// would change what the server does.
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
}

// telling is the line of what a tool printed that says most: the first that is
// an error, else the last.
func telling(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, l := range lines {
		for _, word := range []string{noSpace, "error:", "FATAL:", "PANIC:"} {
			if strings.Contains(l, word) {
				return strings.TrimSpace(l)
			}
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
