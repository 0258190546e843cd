package embedded_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
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

// The backend of a connection that has just been closed may still run, so the server ends some in every orderly stop.
func TestAnOrderlyStopLogsNoWarning(t *testing.T) {
	s := started(t, t.TempDir())
	db := must.Get(sql.Open("postgres", s.DSN()))(t)
	defer db.Close()
	must.Do(t, db.PingContext(t.Context()))
	s.stop()
	if !s.log.Contains("terminating connection due to administrator command") {
		t.Fatalf("the server ended no connection, so nothing was tested:\n%s", s.log)
	}
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			t.Errorf("logged: %s", line)
		}
	}
	s.stop() // twice is no error
	if pid := postmasterPID(s.dir); pid != 0 {
		t.Errorf("postmaster.pid names %d", pid)
	}
	if _, err := s.query(`SELECT 'here'`); err == nil {
		t.Error("it still answers")
	}
}

func TestAServerThatDoesNotEndIsKilledWhenTheContextOfStopIsDone(t *testing.T) {
	s := started(t, t.TempDir())
	pid := s.signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if !await.Ended(pid) {
		t.Errorf("process %d still runs", pid)
	}
	started(t, s.dir).expect(`SELECT 'here'`, "here")
}

// All committed rows are there again, and repeated deaths are logged once.
func TestADeadServerIsStartedAgain(t *testing.T) {
	s := started(t, t.TempDir())
	s.expect(`CREATE TABLE kept AS SELECT 'yes' AS word`, "")
	for n := range 3 {
		pid := s.signal(syscall.SIGKILL)
		await.True(t, "another one answers", func() bool {
			word, err := s.query(`SELECT word FROM kept`)
			// The next death must not be one of its start.
			return err == nil && word == "yes" && postmasterPID(s.dir) != pid && s.log.Count("database started") == n+2
		})
	}
	if died, back := s.log.Count("database died"), s.log.Count(`level=INFO msg="database started"`); died != 1 || back != 2 {
		t.Errorf("it died %d times and started %d, the log says\n%s", died, back, s.log)
	}
}

func TestAServerThatOutlivedItsGatewayIsEndedByTheNext(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 20)) // too long for a socket, which is in a temporary directory
	tempDir := shortTempDir(t)
	gateway := exec.CommandContext(t.Context(), os.Args[0]) // it does not end by itself
	gateway.Env = append(os.Environ(), gatewayDir+"="+dir)
	out := must.Get(gateway.StdoutPipe())(t)
	must.Do(t, gateway.Start())
	line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	must.Equal(t, "line", line, "started\n")
	pid := postmasterPID(dir)
	must.Do(t, gateway.Process.Kill())
	_ = gateway.Wait() // returns that it was killed
	if await.Ended(pid) {
		t.Fatal("the server went with its gateway: there is nothing to test")
	}
	s := started(t, dir)
	s.expect(`SELECT 'here'`, "here")
	if !await.Ended(pid) {
		t.Errorf("process %d still runs", pid)
	}
	expectSocketDirs(t, tempDir, 1)
	s.stop()
	expectSocketDirs(t, tempDir, 0)
}

func TestStartRefusesWhatItMustNotTouch(t *testing.T) {
	t.Run("a cluster of another version is not touched, and both versions are named", func(t *testing.T) {
		dir := t.TempDir()
		own := started(t, dir)
		version := must.Get(own.query(`SHOW server_version`))(t)
		own.stop()
		cluster := filepath.Join(dir, "postgres")
		must.Do(t, os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte("9\n"), 0o600))
		major, _, _ := strings.Cut(version, ".")
		expectUntouched(t, cluster, func() {
			expectRefusal(t.Context(), t, dir, "PostgreSQL 9", major, "nothing was touched", "pg_upgrade", "DB_DSN")
		})
	})

	t.Run("a directory with other files is not touched", func(t *testing.T) {
		dir := t.TempDir()
		must.Do(t, os.MkdirAll(filepath.Join(dir, "postgres", "photographs"), 0o700))
		expectUntouched(t, filepath.Join(dir, "postgres"), func() { expectRefusal(t.Context(), t, dir, "no PostgreSQL database", "nothing was touched") })
	})

	t.Run("a second server on one directory is refused, and the first continues", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		expectRefusal(t.Context(), t, dir, "another stream-monitor", dir)
		s.expect(`SELECT 'here'`, "here")
	})

	t.Run("without an installation the error says what to install", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
		if err != nil || len(installed) > 0 {
			s := started(t, t.TempDir()) // found outside PATH
			s.expect(`SELECT 'here'`, "here")
			return
		}
		if err := expectRefusal(t.Context(), t, t.TempDir(), "apt-get install postgresql", "DB_DSN"); !errors.Is(err, embedded.ErrNotInstalled) {
			t.Errorf("the error is %v", err)
		}
	})

	t.Run("a cancelled start leaves no process", func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		if err := expectRefusal(ctx, t, dir); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		started(t, dir).expect(`SELECT 'here'`, "here")
	})
}
