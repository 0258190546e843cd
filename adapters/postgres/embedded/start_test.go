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

	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// owner describes to whom a file belongs, and what others may do with it.
func owner(t *testing.T, path string) string {
	t.Helper()
	info := must.Get(os.Stat(path))(t)
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(st.Uid, st.Gid, info.Mode())
}

func TestStartRunsAPrivateServer(t *testing.T) {
	t.Run("that is not root, syncs its files, listens on no port, and keeps its rows and the owner of DATA_DIR", func(t *testing.T) {
		dir := t.TempDir()
		before := owner(t, dir)
		s := started(t, dir)
		if who := owner(t, fmt.Sprintf("/proc/%d", postmasterPID(dir))); strings.HasPrefix(who, "0 ") {
			t.Error("it runs as root")
		}
		s.expect(`SHOW fsync`, "on")
		s.expect(`SHOW listen_addresses`, "")
		s.expect(`SELECT current_user`, "stream_monitor")
		s.expect(`CREATE TABLE kept AS SELECT 'yes' AS word`, "")
		s.stop()
		started(t, dir).expect(`SELECT word FROM kept`, "yes")
		if after := owner(t, dir); after != before {
			t.Errorf("DATA_DIR was of %s and is of %s", before, after)
		}
	})

	for name, c := range map[string]struct {
		path   string
		inTemp bool // the socket must be in a temporary directory
	}{
		"that is not there yet":               {"not/yet there", false},
		"with quotes and spaces":              {`it's "here" \ now`, false},
		"whose path is too long for a socket": {strings.Repeat("deep/", 20), true},
		"whose name contains a comma":         {"a,b", true},
	} {
		t.Run("in a directory "+name, func(t *testing.T) {
			tempDir := shortTempDir(t)
			s := started(t, filepath.Join(t.TempDir(), c.path))
			s.expect(`SELECT 'here'`, "here")
			if c.inTemp && !strings.Contains(s.DSN(), tempDir+"/stream-monitor-") {
				t.Errorf("the address is %s", s.DSN())
			}
			s.stop()
			expectSocketDirs(t, tempDir, 0)
		})
	}

	t.Run("an interrupted creation is repeated", func(t *testing.T) {
		dir := t.TempDir()
		half := filepath.Join(dir, "postgres.new", "base")
		must.Do(t, os.MkdirAll(half, 0o700))
		started(t, dir).expect(`SELECT 'here'`, "here")
		if _, err := os.Stat(filepath.Dir(half)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the rest of it is still there: %v", err)
		}
	})

	t.Run("a stale postmaster.pid with the pid of another process is removed", func(t *testing.T) {
		dir := t.TempDir()
		started(t, dir).stop()
		stale := fmt.Sprintf("%d\n%s\n1\n5432\n.\n\n1 1\nready\n", os.Getpid(), dir)
		must.Do(t, os.WriteFile(filepath.Join(dir, "postgres", "postmaster.pid"), []byte(stale), 0o600))
		started(t, dir).expect(`SELECT 'here'`, "here")
	})
}
