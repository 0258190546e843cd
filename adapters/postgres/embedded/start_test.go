package embedded_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStartRunsAPrivateServer(t *testing.T) {
	t.Run("a second start finds the committed rows", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "not", "yet there")
		began := time.Now()
		s := started(t, dir)
		t.Logf("first start: %v", time.Since(began))
		if _, err := query(t, s, `CREATE TABLE kept AS SELECT 'yes' AS word`); err != nil {
			t.Fatal(err)
		}
		stop(t, s)
		began = time.Now()
		s = started(t, dir)
		t.Logf("second start: %v", time.Since(began))
		expectValue(t, s, `SELECT word FROM kept`, "yes")
	})

	t.Run("the server is not root, syncs its files and listens on no port", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		info, err := os.Stat(fmt.Sprintf("/proc/%d", postmasterPID(dir)))
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid == 0 {
			t.Error("it runs as root")
		}
		expectValue(t, s, `SHOW fsync`, "on")
		expectValue(t, s, `SHOW listen_addresses`, "")
		expectValue(t, s, `SELECT current_user`, "stream_monitor")
	})

	t.Run("DATA_DIR keeps its owner", func(t *testing.T) {
		dir := t.TempDir()
		before, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		started(t, dir)
		after, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := after.Sys().(*syscall.Stat_t), before.Sys().(*syscall.Stat_t); a.Uid != b.Uid || a.Gid != b.Gid || after.Mode() != before.Mode() {
			t.Errorf("%v of %d became %v of %d", before.Mode(), b.Uid, after.Mode(), a.Uid)
		}
	})

	for name, below := range map[string]string{
		"whose path is too long for a socket": strings.Repeat("deep/", 20),
		"whose name contains a comma":         "a,b",
	} {
		t.Run("in a directory "+name+" the socket is in a temporary directory", func(t *testing.T) {
			tempDir := shortTempDir(t)
			s := started(t, filepath.Join(t.TempDir(), below))
			expectValue(t, s, `SELECT 'here'`, "here")
			if !strings.Contains(s.DSN(), tempDir) {
				t.Errorf("the address is %s", s.DSN())
			}
			stop(t, s)
			if left := socketDirs(t, tempDir); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}

	t.Run("the path may contain quotes and spaces", func(t *testing.T) {
		s := started(t, filepath.Join(t.TempDir(), `it's "here" \ now`))
		expectValue(t, s, `SELECT 'here'`, "here")
	})

	t.Run("an interrupted creation is repeated", func(t *testing.T) {
		dir := t.TempDir()
		half := filepath.Join(dir, "postgres.new", "base")
		if err := os.MkdirAll(half, 0o700); err != nil {
			t.Fatal(err)
		}
		s := started(t, dir)
		expectValue(t, s, `SELECT 'here'`, "here")
		if _, err := os.Stat(filepath.Dir(half)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the rest of it is still there: %v", err)
		}
	})

	t.Run("a stale postmaster.pid with the pid of another process is removed", func(t *testing.T) {
		dir := t.TempDir()
		stop(t, started(t, dir))
		stale := fmt.Sprintf("%d\n%s\n1\n5432\n.\n\n1 1\nready\n", os.Getpid(), dir)
		if err := os.WriteFile(filepath.Join(dir, "postgres", "postmaster.pid"), []byte(stale), 0o600); err != nil {
			t.Fatal(err)
		}
		expectValue(t, started(t, dir), `SELECT 'here'`, "here")
	})
}
