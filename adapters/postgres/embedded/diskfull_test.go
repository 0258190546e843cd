//go:build linux

package embedded_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// ownMounts is set in a copy of this test program with its own mount namespace.
const ownMounts = "EMBEDDED_TEST_OWN_MOUNTS"

// The full disk is a small file system in memory.
func TestAFullDiskIsReportedAndSurvived(t *testing.T) {
	if os.Getenv(ownMounts) == "" {
		inOwnMounts(t)
		return
	}

	t.Run("a first start names the full disk and leaves nothing behind", func(t *testing.T) {
		dir := disk(t, 20)
		expectRefusal(t.Context(), t, dir, "o space left on device", "free some space", dir, "DATA_DIR")
		if _, err := os.Stat(filepath.Join(dir, "postgres.new")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a part of it is still there: %v", err)
		}
	})

	t.Run("a later start names the full disk, and succeeds when there is space", func(t *testing.T) {
		dir := disk(t, 80)
		started(t, dir).stop()
		ballast := fill(t, dir)
		expectRefusal(t.Context(), t, dir, "o space left on device", "free some space", dir)
		free(t, ballast)
		started(t, dir).expect(`SELECT 'here'`, "here")
	})

	t.Run("a server whose disk becomes full is back within 5 s of there being space, with all committed rows", func(t *testing.T) {
		dir := disk(t, 96)
		s := started(t, dir)
		s.expect(`CREATE TABLE kept (n int, pad text)`, "")
		confirmed := 0
		insert := func() error {
			_, err := s.query(fmt.Sprintf(`INSERT INTO kept SELECT %d, repeat('x', 500) FROM generate_series(1, 100)`, confirmed+1))
			if err == nil {
				confirmed++
			}
			return err
		}
		must.Do(t, insert())
		ballast := fill(t, dir)
		await.True(t, "nothing can be stored", func() bool { return insert() != nil })
		await.True(t, "the server has died of it, and cannot start", func() bool {
			_, _ = s.query(`SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000000))`) // needs space in the write-ahead log
			return s.log.Contains("database did not start")
		})
		time.Sleep(3 * time.Second) // the restart delays reach their maximum
		free(t, ballast)
		await.True(t, "something can be stored", func() bool { return insert() == nil })
		// An insert that was not acknowledged may have been committed.
		s.expect(fmt.Sprintf(`SELECT count(DISTINCT n) FROM kept WHERE n <= %d`, confirmed), fmt.Sprint(confirmed))
		for _, words := range []string{"level=ERROR msg=\"no space is left for the database", "free some space", "database died", "database did not start"} {
			if !s.log.Contains(words) {
				t.Errorf("the log does not say %q:\n%s", words, s.log)
			}
		}
		if n := s.log.Count("level=ERROR"); n > 8 {
			t.Errorf("%d errors:\n%s", n, s.log)
		}
	})
}

// inOwnMounts runs this test again in a process with its own mount namespace.
func inOwnMounts(t *testing.T) {
	t.Helper()
	again := exec.Command(os.Args[0], "-test.run=^TestAFullDiskIsReportedAndSurvived$", "-test.v")
	again.Env = append(os.Environ(), ownMounts+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		again.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		again.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		again.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		again.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	out, err := again.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("in a mount namespace of its own: %v (user namespaces must be allowed: sysctl kernel.unprivileged_userns_clone=1)", err)
	}
}

// disk mounts a file system of that many megabytes and returns its path.
func disk(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must.Do(t, unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)))
	t.Cleanup(func() { must.Do(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// fill writes a file, whose path it returns, until the disk is full.
func fill(t *testing.T, dir string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, "ballast")
	f := must.Get(os.Create(ballast))(t)
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	return ballast
}

func free(t *testing.T, ballast string) {
	t.Helper()
	must.Do(t, os.Remove(ballast))
}
