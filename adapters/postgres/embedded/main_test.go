package embedded_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	_ "github.com/lib/pq"
	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// gatewayDir names the DATA_DIR of a copy of this test program that acts as a
// gateway and waits to be killed.
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

// server is a server with its log.
type server struct {
	*embedded.Server

	t   *testing.T
	dir string
	log *logbuffer.Buffer
}

// started starts a server. The test's cleanup stops it.
func started(t *testing.T, dir string) *server {
	t.Helper()
	s := &server{t: t, dir: dir, log: &logbuffer.Buffer{}}
	s.Server = must.Get(embedded.Start(t.Context(), embedded.Config{DataDir: dir, Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}))(t)
	t.Cleanup(s.stop)
	return s
}

func (s *server) stop() {
	s.t.Helper()
	must.Do(s.t, s.Stop(context.Background()))
}

// query runs a statement on a new connection and returns its only value.
func (s *server) query(statement string) (string, error) {
	s.t.Helper()
	db := must.Get(sql.Open("postgres", s.DSN()))(s.t)
	defer db.Close()
	var answer sql.NullString
	err := db.QueryRowContext(s.t.Context(), statement).Scan(&answer)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return answer.String, err
}

// expect fails the test unless the statement returns want.
func (s *server) expect(statement, want string) {
	s.t.Helper()
	if got, err := s.query(statement); err != nil || got != want {
		s.t.Errorf("%s is %q, want %q (%v)", statement, got, want, err)
	}
}

// signal sends a signal to the server's process and returns its process id.
func (s *server) signal(sig syscall.Signal) (pid int) {
	s.t.Helper()
	pid = postmasterPID(s.dir)
	must.Do(s.t, syscall.Kill(pid, sig))
	return pid
}

// postmasterPID returns the process id of the server on dir; 0: none runs.
func postmasterPID(dir string) int {
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

// expectRefusal fails the test unless Start fails with an error that contains all words.
func expectRefusal(ctx context.Context, t *testing.T, dir string, words ...string) error {
	t.Helper()
	s, err := embedded.Start(ctx, embedded.Config{DataDir: dir})
	if err == nil {
		t.Fatal("it started", s.Stop(context.Background()))
	}
	expect.Failure(t, err, words...)
	return err
}

// shortTempDir makes temporary directories during this test have short names, in a
// directory to which the server's user has access.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("/tmp", "socket-"))(t) //nolint:usetesting // the path of t.TempDir is long, and other users have no access
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must.Do(t, os.Chmod(dir, 0o711))
	t.Setenv("TMPDIR", dir)
	return dir
}

// expectSocketDirs fails the test unless so many directories in dir were made for a socket.
func expectSocketDirs(t *testing.T, dir string, want int) {
	t.Helper()
	if found, err := filepath.Glob(filepath.Join(dir, "stream-monitor-*")); err != nil || len(found) != want {
		t.Errorf("the sockets are in %v, want %d (%v)", found, want, err)
	}
}

// expectUntouched does something and fails the test if it changes a file under dir: its name, size, mode, owner or time.
func expectUntouched(t *testing.T, dir string, do func()) {
	t.Helper()
	before := tree(t, dir)
	do()
	if after := tree(t, dir); after != before {
		t.Errorf("before\n%s, after\n%s", before, after)
	}
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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
	}))
	return b.String()
}
