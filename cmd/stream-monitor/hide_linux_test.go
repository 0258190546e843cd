package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

// asProgram makes the test binary the program itself.
const asProgram = "MAIN_TEST_AS_PROGRAM"

// server is a real PostgreSQL that the tests share.
var server *postgrestest.Server

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == attacker {
		attackService()
		os.Exit(1)
	}
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && os.Args[1] == "worker" {
		_ = os.Unsetenv(asProgram)
		main()
	}
	os.Exit(postgrestest.Main(m, postgrestest.Config{}, func(s *postgrestest.Server) { server = s }))
}

// startWithoutCapabilities starts a command with the capabilities of an ordinary user, so
// without CAP_SYS_PTRACE.
func startWithoutCapabilities(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		for capability := uintptr(0); os.Geteuid() == 0 && capability <= unix.CAP_LAST_CAP; capability++ {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
				started <- err
				return
			}
		}
		started <- cmd.Start()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

// canReadEnvironment reports whether a process without capabilities reads the environment of another one.
func canReadEnvironment(t *testing.T, of *exec.Cmd) bool {
	t.Helper()
	read := exec.CommandContext(t.Context(), "cat", fmt.Sprintf("/proc/%d/environ", of.Process.Pid))
	startWithoutCapabilities(t, read)
	return read.Wait() == nil
}

func TestAProcessHidesItsSecretsFromOthersOfItsUser(t *testing.T) {
	hidden := exec.CommandContext(t.Context(), os.Args[0], "worker", "--monitor-id=mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d", "--generation=1",
		"--gateway-url=http://127.0.0.1:1", "--internal-api-key=c")
	shown := exec.CommandContext(t.Context(), "sh", "-c", "echo runs; exec sleep 60")
	for _, c := range []struct {
		cmd     *exec.Cmd
		canRead bool
	}{{hidden, false}, {shown, true}} {
		output, err := c.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		c.cmd.Stderr = c.cmd.Stdout
		startWithoutCapabilities(t, c.cmd)
		if _, err := output.Read(make([]byte, 1)); err != nil { // it runs
			t.Fatal(err)
		}
		if got := canReadEnvironment(t, c.cmd); got != c.canRead {
			t.Errorf("the environment of %s can be read: %t", c.cmd.Args[0], got)
		}
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

func TestACommandThatNeedsToolsSaysThatTheirLauncherIsMissing(t *testing.T) {
	for _, command := range [][]string{{"serve"}, {"worker", "--monitor-id=mon-" + "0192f0c1a2b37c4d8e5f001122334455", "--generation=1", "--gateway-url=http://127.0.0.1:1", "--internal-api-key=k"}, {"watch", "https://www.youtube.com/watch?v=abcdefghijk"}} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], command...)
		cmd.Env = append(os.Environ(), asProgram+"=1", "LAUNCHER_PATH=/nowhere/tool-launcher", "DATA_DIR="+t.TempDir(), "DB_DSN=")
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != config.UsageStatus || !strings.Contains(string(said), "/nowhere/tool-launcher") || !strings.Contains(string(said), "LAUNCHER_PATH") {
			t.Errorf("%s: %v, %s", command[0], err, said)
		}
	}
}
