package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

func TestADeadServerIsStartedAgain(t *testing.T) {
	t.Run("a killed server is started again with all committed rows", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		if _, err := query(t, s, `CREATE TABLE kept AS SELECT 'yes' AS word`); err != nil {
			t.Fatal(err)
		}
		pid := postmasterPID(dir)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it answers again", func() bool {
			word, err := query(t, s, `SELECT word FROM kept`)
			return err == nil && word == "yes"
		})
		if postmasterPID(dir) == pid {
			t.Error("it is the same process")
		}
	})

	t.Run("repeated deaths are logged once", func(t *testing.T) {
		dir, log := t.TempDir(), &logbuffer.Buffer{}
		s, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err != nil {
			t.Fatal(err)
		}
		defer stop(t, s)
		for n := range 3 {
			pid := postmasterPID(dir)
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "another one answers", func() bool {
				_, err := query(t, s, `SELECT 1`)
				// The next death must not be one of its start.
				return err == nil && postmasterPID(dir) != pid && log.Count("database started") == n+2
			})
		}
		if died, back := log.Count("database died"), log.Count(`level=INFO msg="database started"`); died != 1 || back != 2 {
			t.Errorf("it died %d times and started %d, the log says\n%s", died, back, log)
		}
	})

	t.Run("a server that outlived its gateway is ended by the next gateway", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 20)) // too long for a socket, which is in a temporary directory
		tempDir := shortTempDir(t)
		gateway := exec.CommandContext(t.Context(), os.Args[0]) // it does not end by itself
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
		pid := postmasterPID(dir)
		if err := gateway.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = gateway.Wait() // returns that it was killed
		if ended(pid) {
			t.Fatal("the server went with its gateway: there is nothing to test")
		}
		began := time.Now()
		s := started(t, dir)
		t.Logf("ended and started anew in %v", time.Since(began))
		expectValue(t, s, `SELECT 'here'`, "here")
		if !ended(pid) {
			t.Errorf("process %d still runs", pid)
		}
		if left := socketDirs(t, tempDir); len(left) != 1 {
			t.Errorf("the sockets are in %v", left)
		}
		stop(t, s)
		if left := socketDirs(t, tempDir); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})

	t.Run("a server that does not end is killed when Stop's context is done", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		pid := postmasterPID(dir)
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if !ended(pid) {
			t.Errorf("process %d still runs", pid)
		}
		expectValue(t, started(t, dir), `SELECT 'here'`, "here")
	})

	t.Run("stopping twice is no error", func(t *testing.T) {
		dir := t.TempDir()
		s := started(t, dir)
		stop(t, s)
		stop(t, s)
		if pid := postmasterPID(dir); pid != 0 {
			t.Errorf("postmaster.pid names %d", pid)
		}
		if _, err := query(t, s, `SELECT 'here'`); err == nil {
			t.Error("it still answers")
		}
	})
}
