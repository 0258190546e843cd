package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// patience is how long a test waits for a process that must end.
const patience = time.Minute

func TestAWorkerProcessGetsTheVariablesThatItReadsAndNoOthers(t *testing.T) { // decision W1, section 8.1
	clearEnvironment(t)
	const secret = "geheim"
	for name, value := range map[string]string{
		"YTDLP_PATH": "/opt/yt-dlp", "STREAMLINK_PATH": "/opt/streamlink", "FFMPEG_PATH": "/opt/ffmpeg", "DECODER_PATH": "off", "LAUNCHER_PATH": "/opt/launcher",
		"TOOL_FILES": "/opt", "HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2", "EGRESS_PROXIES": "direct", "TLS_CERT_FILE": "", "TZ": "Asia/Tokyo",
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
