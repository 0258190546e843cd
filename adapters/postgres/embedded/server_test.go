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

	t.Run("a server that dies again and again is spoken of once", func(t *testing.T) {
		dir, log := t.TempDir(), &logbuffer.Buffer{}
		s, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, Log: slog.New(slog.NewTextHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer stop(t, s)
		for range 3 {
			pid := postmaster(dir)
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "another one answers", func() bool {
				_, err := ask(t, s, `SELECT 1`)
				return err == nil && postmaster(dir) != pid
			})
		}
		if died, back := log.Count("database died"), log.Count("database started"); died != 1 || back != 2 {
			t.Errorf("it died %d times and started %d, the log says\n%s", died, back, log)
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
		began := time.Now()
		s := started(t, dir)
		t.Logf("ended and started anew in %v", time.Since(began))
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
