package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

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

func TestAToolCannotReadTheSecretsOfTheProcessThatRunsIt(t *testing.T) {
	clearEnvironment(t)
	dir := t.TempDir()
	tool := filepath.Join(dir, "yt-dlp")
	keys := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(keys, []byte("geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The tool names its finds in the message with which it fails, and so in the log.
	script := `#!/bin/sh
found=nothing
grep -qa SECRETS_KEY=geheim /proc/$PPID/environ 2>/dev/null && found=environment
dd if=/proc/$PPID/mem of=/dev/null count=1 2>&1 | grep -q denied || found="$found memory"
readlink /proc/$PPID/fd/2 >/dev/null 2>&1 && found="$found descriptors"
cat ` + keys + ` >/dev/null 2>&1 && found="$found keys"
(: >` + keys + `.new) 2>/dev/null && found="$found place"
[ -n "$CALLBACK_URL" ] && found="$found callback"
python3 -c 'import ctypes, os, sys
for thread in os.listdir("/proc/%s/task" % sys.argv[1]):
    if ctypes.CDLL(None).ptrace(16, int(thread), 0, 0) == 0: sys.exit()
sys.exit(1)' $PPID && found="$found trace"
python3 -c 'import socket; socket.socket(socket.AF_UNIX)' 2>/dev/null && found="$found sockets"
python3 -c '' || found="$found no python"
echo "ERROR: the tool has found $found." >&2
exit 1
`
	if err := os.WriteFile(tool, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "watch", "--log-level=debug", "https://www.youtube.com/watch?v=dQw4w9WgXcQ")
	cmd.Env = append(os.Environ(), asProgram+"=1", "SECRETS_KEY=geheim", "CALLBACK_URL=https://receiver.example/hook", "YTDLP_PATH="+tool, "STREAMLINK_PATH="+tool, "HTTPS_PROXY=http://127.0.0.1:1")
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	startWithoutCapabilities(t, cmd)
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if _, found, is := strings.Cut(lines.Text(), "the tool has found "); is {
			if !strings.HasPrefix(found, "nothing.") {
				t.Errorf("it has found %s", found)
			}
			return
		}
	}
	t.Error("the tool was not run")
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
