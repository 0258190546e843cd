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
	// superuser and database are the names that clients connect with.
	superuser = "stream_monitor"
	database  = "postgres"

	// initTimeout limits initdb, which takes half a second on an idle machine.
	initTimeout = 2 * time.Minute
)

// cluster is a database cluster: the data directory of one server.
type cluster struct {
	dir  string // absolute, without links
	user serverUser
	bin  binaries
}

// clusterVersion returns the major version of the cluster at dir, or 0 if dir is
// empty or does not exist.
func clusterVersion(dir string) (int, error) {
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

// create runs initdb in another directory, which it renames to c.dir when initdb has
// succeeded. So the result of an interrupted creation is never taken for a database.
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
	if err := c.user.chown(dir); err != nil {
		return fmt.Errorf("give %s to user %d: %w", draft, c.user.uid(), err)
	}

	ctx, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, c.bin.initdb(),
		"-D", c.dataDirArg(dir), "-U", superuser,
		"--encoding=UTF8", "--no-locale", "--auth=peer", "--wal-segsize=4", "--no-instructions")
	c.configure(cmd, dir)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with its children
	cmd.WaitDelay = drainTimeout
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("create the database: initdb: %w", context.Cause(ctx))
		}
		return fmt.Errorf("create the database: initdb: %w: %.500s", err, firstError(out.String()))
	}
	if err := os.Rename(draft, c.dir); err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	return nil
}

// writeAccessFiles lets only the user of this process connect. It is called at every
// start, because that user may have changed.
func (c cluster) writeAccessFiles() error {
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("look up who runs this process: %w", err)
	}
	files := map[string]string{
		"pg_hba.conf":   "local all all peer map=gateway\n",
		"pg_ident.conf": fmt.Sprintf("gateway %q %s\n", me.Username, superuser),
	}
	for name, text := range files {
		if c.fileIs(name, text) {
			continue // a full disk does not prevent the start
		}
		if err := c.replaceFile(name, text); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// fileIs reports whether a file of the cluster has exactly this text.
func (c cluster) fileIs(name, text string) bool {
	f, err := os.OpenFile(filepath.Join(c.dir, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	content := make([]byte, len(text)+1)
	n, err := io.ReadFull(f, content)
	return errors.Is(err, io.ErrUnexpectedEOF) && string(content[:n]) == text
}

// replaceFile replaces a file of the cluster atomically. Another user may own the directory,
// so replaceFile follows no link in it and opens no existing file for writing.
func (c cluster) replaceFile(name, text string) error {
	f, err := os.CreateTemp(c.dir, name+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename, as intended
	_, err = f.WriteString(text)
	if err := errors.Join(err, c.user.chown(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(c.dir, name))
}

// dataDirArg returns the path by which the server reaches its directory. Another
// user may have no access to a parent directory, so its server inherits the
// directory as an open file.
func (c cluster) dataDirArg(dir *os.File) string {
	if c.user.isOther() && procfs {
		return "/proc/self/fd/3"
	}
	return dir.Name()
}

// configure sets the options that all child processes share.
func (c cluster) configure(cmd *exec.Cmd, dir *os.File) {
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{dir}
	cmd.SysProcAttr = c.user.attributes()
	// The gateway's environment holds secrets, and PG* variables would change the
	// server's behaviour.
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
}

// firstError returns the first line of a tool's output that is an error, else the
// last line.
func firstError(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for _, l := range lines {
		for _, mark := range []string{noSpaceText, "error:", "FATAL:", "PANIC:"} {
			if strings.Contains(l, mark) {
				return strings.TrimSpace(l)
			}
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
