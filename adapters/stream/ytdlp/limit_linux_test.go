package ytdlp_test

import (
	_ "embed"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestAPageWithoutEndCostsOneQuestion(t *testing.T) {
	inBothWays(t, func(t *testing.T, newResolver resolverMaker) {
		resolver := newResolver(ytdlp.Config{Timeout: time.Minute, MaxMemory: 160 << 20})
		pythontooltest.PagesWithoutEnd(t, resolver, watch.Live)
	})
}

func TestAScriptThatAllocatesForEverCostsOneQuestion(t *testing.T) {
	deno := filepath.Join(filepath.Dir(pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")), "deno")
	f := startConfinedForks(t, `
import subprocess
script = "const all = []; for (;;) all.push(new Array(1e6).fill(Math.random()))" if args else "console.log(1 + 1)"
done = subprocess.run(["`+deno+`", "eval", "--v8-flags=--jitless", script], capture_output=True)
if done.returncode: sys.exit("deno ended with %d" % done.returncode)
`)
	limits := subprocess.Limits{DataBytes: ytdlp.MaxMemory, CPUTime: pythontool.MaxCPU, OpenFiles: pythontool.MaxFiles, FileBytes: pythontool.MaxFile}
	command := subprocess.Command{Path: f.path, Args: []string{"for ever"}, Limits: limits}
	for range 2 {
		res, err := f.Run(t.Context(), command)
		if err != nil || res.ExitCode != 1 || !strings.Contains(string(res.Stderr), "deno ended with -") {
			t.Errorf("got %+v, %v: %s", res, err, res.Stderr)
		}
		if res, err := f.Run(t.Context(), subprocess.Command{Path: f.path, Limits: limits}); err != nil || res.ExitCode != 0 {
			t.Errorf("then got %+v, %v: %s", res, err, res.Stderr)
		}
	}
	if f.log.String() != "" {
		t.Errorf("the process that stays up was not used: %s", f.log.String())
	}
}

// A run has its limits in a fork, as it has in a process of its own.
func TestARunHasLimits(t *testing.T) {
	f := newForks(t, pythonTool(t, `
import json, resource
names = ["DATA", "CPU", "NOFILE", "FSIZE", "CORE"]
print(json.dumps([resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in names]))`), nil)
	limits := subprocess.Limits{DataBytes: 300 << 20, CPUTime: 5 * time.Second, OpenFiles: 100, FileBytes: 1 << 20}
	res, err := f.Run(t.Context(), subprocess.Command{Path: f.path, Limits: limits})
	const want = "[[314572800, 314572800], [5, 6], [100, 100], [1048576, 1048576], [0, 0]]"
	if got := strings.TrimSpace(string(res.Stdout)); err != nil || got != want || f.Runs() == 0 {
		t.Errorf("in %d forks it has %s, want %s: %v, %s", f.Runs(), got, want, err, res.Stderr)
	}
}

func TestARunThatUsesTooMuchCPUTimeIsNotRepeated(t *testing.T) {
	f := startForks(t, `
if os.getpid() == imported_by: sys.exit("the command was run")
while True: pass`)
	res, err := f.Run(t.Context(), subprocess.Command{Path: f.path, Limits: subprocess.Limits{CPUTime: time.Second}})
	if err != nil || !strings.HasPrefix(res.Signal, "CPU time limit exceeded") {
		t.Errorf("got %+v, %v: %s", res, err, res.Stderr)
	}
}

// The forks of a process that stays up are confined as the command is. A run that is taken over could answer for
// others, or end the gateway by an answer that nobody expects.
func TestARunInAForkIsConfined(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.json")
	must.Do(t, os.WriteFile(keys, []byte("secret"), 0o600))
	f := startConfinedForks(t, `
import socket
server = sys.modules["__main__"]
for what, do in {
    "reads keys": lambda: open("`+keys+`").read(),
    "writes elsewhere": lambda: open("`+keys+`.new", "w"),
    "reads the environment of the gateway": lambda: open("/proc/`+strconv.Itoa(os.Getpid())+`/environ").read(),
    "makes a unix socket": lambda: socket.socket(socket.AF_UNIX),
    "opens the memory of the server": lambda: open("/proc/%d/mem" % imported_by, "r+b"),
    "has the requests of the server": lambda: os.fstat(server.requests),
    "has the replies of the server": lambda: os.fstat(server.replies),
}.items():
    try: do()
    except OSError: continue
    sys.exit("it " + what)`)
	for range 2 { // what the first has opened is not the next one's
		if a := f.ask(); !a.forked() || f.log.String() != "" {
			t.Errorf("the command was run: %s", f.log)
		}
	}
}

func TestARepeatedReplyEndsTheProcess(t *testing.T) {
	for said, ends := range map[string]bool{
		`{"files": []}` + "\n" + `{"id": 1}` + "\n":     false,
		`{"files": []}` + "\n" + `{"files": []}` + "\n": true,
		`{"id": 1}` + "\n" + `{"id": 1}` + "\n":         true,
		`{"id": 9}` + "\n" + `{"id": 9}` + "\n":         false, // a run that has ended
	} {
		if err := ytdlp.ReadReplies(said); (err != nil) != ends {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// signals says which processes it can signal: its own, and those of another run that it meets in a folder.
//
//go:embed testdata/signals.py
var signals string

// A question that a stream has taken over reaches neither the process that stays up nor other questions.
func TestARunSignalsOnlyWhatItHasStarted(t *testing.T) {
	f := startConfinedForks(t, signals)
	folder := "meeting-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			res, err := f.Run(t.Context(), subprocess.Command{Path: f.path, Args: []string{folder}})
			if err != nil || string(res.Stderr) != "its own\n" {
				t.Errorf("%v; it signals\n%s", err, res.Stderr)
			}
		})
	}
	asking.Wait()
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "stream-monitor-tools-*", folder))
	for _, folder := range left {
		_ = os.RemoveAll(folder)
	}
}
