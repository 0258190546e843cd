package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
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

// patience is how long a test waits for a process that must end.
const patience = time.Minute

func TestAWorkerProcessGetsTheVariablesThatItReadsAndNoOthers(t *testing.T) { // decision W1, section 8.1
	clearEnvironment(t)
	const secret = "geheim"
	for name, value := range map[string]string{
		"YTDLP_PATH": "/opt/yt-dlp", "STREAMLINK_PATH": "/opt/streamlink", "FFMPEG_PATH": "/opt/ffmpeg", "DECODER_PATH": "off", "LAUNCHER_PATH": "/opt/launcher",
		"YTDLP_PLAYER_CLIENTS": "web", "YTDLP_PO_TOKEN_URL": "http://127.0.0.1:4416", "YTDLP_JS_RUNTIME": "node",
		"MEDIA_ALLOWED_NETWORKS": "10.0.0.0/8",
		"TOOL_FILES":             "/opt", "HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2", "EGRESS_PROXIES": "direct", "TLS_CERT_FILE": "", "TZ": "Asia/Tokyo",
	} {
		t.Setenv(name, value)
	}
	command, err := config.Parse([]string{"serve"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	serve := command.(*config.Serve)
	read := variablesOf(reflect.TypeFor[config.Worker]())
	for _, name := range append(config.Variables(), "PGPASSWORD", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "SOMETHING_NEW") {
		if !slices.Contains(read, name) || name == "INTERNAL_API_KEY" || name == "PROBE_LISTEN_ADDR" {
			t.Setenv(name, secret)
		}
	}

	shown := filepath.Join(t.TempDir(), "environment")
	workers := processWorkers(serve, monitor.NewTokenKey("internal-key"), "http://127.0.0.1:8081")
	workers.GatewayCA = "/etc/gateway.pem"
	workers.IDFile, workers.Output = filepath.Join(t.TempDir(), "id"), os.Stderr
	workers.Path, workers.Args = "/bin/sh", []string{"-c", "env >" + shown}
	launcher, err := process.New(workers)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = launcher.Close(t.Context()) }()
	if err := launcher.Launch(t.Context(), supervisor.WorkerSpec{ID: "mon-a", Generation: 1, StreamURL: "s", CallbackURL: "c"}); err != nil {
		t.Fatal(err)
	}
	<-launcher.Exits()
	environment, err := os.ReadFile(shown)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(environment), secret) {
		t.Errorf("it gets what it does not read:\n%s", environment)
	}
	for _, name := range read {
		isGiven := strings.Contains("\n"+string(environment), "\n"+name+"=")
		if want := name != "PROBE_LISTEN_ADDR" && name != strings.ToLower(name); isGiven != want {
			t.Errorf("it gets %s: %v, want %v", name, isGiven, want)
		}
	}
}

// variablesOf returns the variables of the settings of a command.
func variablesOf(command reflect.Type) (names []string) {
	for f := range command.Fields() {
		if env := f.Tag.Get("env"); env != "" {
			names = append(names, strings.Split(env, ",")...)
		} else if _, embedded := f.Tag.Lookup("embed"); embedded {
			names = append(names, variablesOf(f.Type)...)
		}
	}
	return names
}

func TestAWorkerEndsWithItsStandardInput(t *testing.T) { // decision O4
	worker := exec.CommandContext(t.Context(), os.Args[0], "worker", "--monitor-id=mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d", "--generation=1",
		"--gateway-url=http://127.0.0.1:1", "--internal-api-key=c", "--end-with-input=on")
	worker.Env = append(os.Environ(), asProgram+"=1")
	input, err := worker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := worker.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	if !lines.Scan() {
		t.Error("it says nothing")
	}
	closed := time.Now()
	_ = input.Close()
	for lines.Scan() {
	}
	if err := worker.Wait(); worker.ProcessState.ExitCode() != 1 || time.Since(closed) > patience {
		t.Errorf("it ended with %v after %v", err, time.Since(closed))
	}
}
