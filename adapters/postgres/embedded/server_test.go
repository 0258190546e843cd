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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/lib/pq"
	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
)

// gatewayDir makes this test program play a gateway on that directory, which
// waits to be killed.
const gatewayDir = "EMBEDDED_TEST_GATEWAY"

func TestMain(m *testing.M) {
	dir := os.Getenv(gatewayDir)
	if dir == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if _, err := embedded.Start(context.Background(), embedded.Config{DataDir: dir}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, "started")
	select {}
}

// started runs a server until the test ends.
func started(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *embedded.Server) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// ask runs a statement on a connection of its own and returns its one value.
func ask(t *testing.T, s *embedded.Server, statement string) (string, error) {
	t.Helper()
	db, err := sql.Open("postgres", s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var answer sql.NullString
	err = db.QueryRowContext(t.Context(), statement).Scan(&answer)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return answer.String, err
}

// answered is ask, with an answer demanded.
func answered(t *testing.T, s *embedded.Server, statement, want string) {
	t.Helper()
	if have, err := ask(t, s, statement); err != nil || have != want {
		t.Errorf("%s is %q, want %q (%v)", statement, have, want, err)
	}
}

// postmaster is the process id of the server on dir; 0: none runs.
func postmaster(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		return 0
	}
	return pid
}

// gone tells whether a process has ended, be it reaped or not.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after 20 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// refused demands that Start fails with all of the words.
func refused(ctx context.Context, t *testing.T, dir string, words ...string) error {
	t.Helper()
	s, err := embedded.Start(ctx, embedded.Config{DataDir: dir})
	if err == nil {
		stop(t, s)
		t.Fatal("it started")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q: %v", word, err)
		}
	}
	return err
}

// shortDir is where temporary directories go during this test: with a short
// name, and open to the server's user.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "socket-") //nolint:usetesting // t.TempDir's is long and closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	return dir
}

// sockets are the directories made for a socket in dir.
func sockets(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "stream-monitor-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// tree is every name under dir with its size, mode, owner and time.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintln(&b, path, info.Size(), info.Mode(), st.Uid, st.Gid, info.ModTime())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestStarting(t *testing.T) {
	t.Run("the first start makes a database, the second finds what was committed", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "not", "yet there")
		began := time.Now()
		s := started(t, dir)
		t.Logf("first start: %v", time.Since(began))
		if _, err := ask(t, s, `CREATE TABLE kept AS SELECT 'yes' AS word`); err != nil {
			t.Fatal(err)
		}
		stop(t, s)
		began = time.Now()
		s = started(t, dir)
		t.Logf("second start: %v", time.Since(began))
		answered(t, s, `SELECT word FROM kept`, "yes")
	})

	t.Run("it does not run as root, writes through, and listens on no port", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		info, err := os.Stat(fmt.Sprintf("/proc/%d", postmaster(dir)))
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid == 0 {
			t.Error("it runs as root")
		}
		answered(t, s, `SHOW fsync`, "on")
		answered(t, s, `SHOW listen_addresses`, "")
		answered(t, s, `SELECT current_user`, "stream_monitor")
	})

	t.Run("only what it makes gets another owner", func(t *testing.T) {
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
		"too deep for a socket":              strings.Repeat("deep/", 20),
		"with a name that means two servers": "a,b",
	} {
		t.Run("in a directory "+name+" the socket lies elsewhere, and goes with the server", func(t *testing.T) {
			scratch := shortDir(t)
			s := started(t, filepath.Join(t.TempDir(), below))
			answered(t, s, `SELECT 'here'`, "here")
			if !strings.Contains(s.DSN(), scratch) {
				t.Errorf("the address is %s", s.DSN())
			}
			stop(t, s)
			if left := sockets(t, scratch); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}

	t.Run("a path with quotes and spaces is no obstacle", func(t *testing.T) {
		s := started(t, filepath.Join(t.TempDir(), `it's "here" \ now`))
		answered(t, s, `SELECT 'here'`, "here")
	})

	t.Run("a database that was being made when the power went is made again", func(t *testing.T) {
		dir := t.TempDir()
		half := filepath.Join(dir, "postgres.new", "base")
		if err := os.MkdirAll(half, 0o700); err != nil {
			t.Fatal(err)
		}
		s := started(t, dir)
		answered(t, s, `SELECT 'here'`, "here")
		if _, err := os.Stat(filepath.Dir(half)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the rest of it is still there: %v", err)
		}
	})

	t.Run("a stale postmaster.pid whose number another process has got is no obstacle", func(t *testing.T) {
		dir := t.TempDir()
		stop(t, started(t, dir))
		stale := fmt.Sprintf("%d\n%s\n1\n5432\n.\n\n1 1\nready\n", os.Getpid(), dir)
		if err := os.WriteFile(filepath.Join(dir, "postgres", "postmaster.pid"), []byte(stale), 0o600); err != nil {
			t.Fatal(err)
		}
		answered(t, started(t, dir), `SELECT 'here'`, "here")
	})
}

func TestRefusing(t *testing.T) {
	t.Run("a database of another version is left alone, with both versions named", func(t *testing.T) {
		dir := t.TempDir()
		own := started(t, dir)
		version, err := ask(t, own, `SHOW server_version`)
		if err != nil {
			t.Fatal(err)
		}
		stop(t, own)
		cluster := filepath.Join(dir, "postgres")
		if err := os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := tree(t, cluster)
		major, _, _ := strings.Cut(version, ".")
		refused(t.Context(), t, dir, "PostgreSQL 9", major, "nothing was touched", "pg_upgrade", "DB_DSN")
		if after := tree(t, cluster); after != before {
			t.Errorf("before\n%s, after\n%s", before, after)
		}
	})

	t.Run("a directory that holds something else is left alone", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "postgres", "photographs"), 0o700); err != nil {
			t.Fatal(err)
		}
		before := tree(t, filepath.Join(dir, "postgres"))
		refused(t.Context(), t, dir, "no PostgreSQL database", "nothing was touched")
		if after := tree(t, filepath.Join(dir, "postgres")); after != before {
			t.Errorf("before\n%s, after\n%s", before, after)
		}
	})

	t.Run("a second server on one directory is refused and does the first no harm", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		refused(t.Context(), t, dir, "another stream-monitor", dir)
		answered(t, s, `SELECT 'here'`, "here")
	})

	t.Run("without an installation it says what to install", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
		if err != nil || len(installed) > 0 {
			s := started(t, t.TempDir()) // found all the same
			answered(t, s, `SELECT 'here'`, "here")
			return
		}
		if err := refused(t.Context(), t, t.TempDir(), "apt-get install postgresql", "DB_DSN"); !errors.Is(err, embedded.ErrNotInstalled) {
			t.Errorf("the error is %v", err)
		}
	})

	t.Run("a start that is cancelled leaves nothing running", func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		if err := refused(ctx, t, dir); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		answered(t, started(t, dir), `SELECT 'here'`, "here")
	})
}

func TestDying(t *testing.T) {
	t.Run("a server that is killed comes back by itself with what was committed", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		if _, err := ask(t, s, `CREATE TABLE kept AS SELECT 'yes' AS word`); err != nil {
			t.Fatal(err)
		}
		pid := postmaster(dir)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it answers again", func() bool {
			word, err := ask(t, s, `SELECT word FROM kept`)
			return err == nil && word == "yes"
		})
		if postmaster(dir) == pid {
			t.Error("it is the same process")
		}
	})

	t.Run("a server that outlived its gateway is ended by the next", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 20)) // its socket lies elsewhere
		scratch := shortDir(t)
		gateway := exec.Command(os.Args[0])
		gateway.Env = append(os.Environ(), gatewayDir+"="+dir)
		out, err := gateway.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := gateway.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || line != "started\n" {
			t.Fatalf("the gateway says %q, %v", line, err)
		}
		pid := postmaster(dir)
		if err := gateway.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = gateway.Wait() // says that it was killed
		if gone(pid) {
			t.Fatal("the server went with its gateway: there is nothing to test")
		}
		s := started(t, dir)
		answered(t, s, `SELECT 'here'`, "here")
		if !gone(pid) {
			t.Errorf("process %d still runs", pid)
		}
		if left := sockets(t, scratch); len(left) != 1 {
			t.Errorf("the sockets are in %v", left)
		}
		stop(t, s)
		if left := sockets(t, scratch); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})

	t.Run("a server that hangs is ended by force when the time is up", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		pid := postmaster(dir)
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if !gone(pid) {
			t.Errorf("process %d still runs", pid)
		}
		answered(t, started(t, dir), `SELECT 'here'`, "here")
	})

	t.Run("stopping twice is no error, and the address is free again", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		stop(t, s)
		stop(t, s)
		if pid := postmaster(dir); pid != 0 {
			t.Errorf("postmaster.pid names %d", pid)
		}
		if _, err := ask(t, s, `SELECT 'here'`); err == nil {
			t.Error("it still answers")
		}
	})
}
