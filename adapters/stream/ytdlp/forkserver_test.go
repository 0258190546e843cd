package ytdlp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/adapters/stream/youtube"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// resolverMaker makes a Resolver of the real yt-dlp.
type resolverMaker func(ytdlp.Config) *ytdlp.Resolver

// inBothWays runs a test of the real yt-dlp twice: as a command and in forks. Tests of what yt-dlp says use forks alone (inForks),
// which take half of the CPU time.
func inBothWays(t *testing.T, test func(t *testing.T, newResolver resolverMaker)) {
	t.Helper()
	path := pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")
	t.Run("as a command", func(t *testing.T) {
		test(t, func(c ytdlp.Config) *ytdlp.Resolver {
			c.Site, c.Path, c.Files = youtube.Site(stream.Choices{}), path, []string{}
			return ytdlp.New(c, discardLog)
		})
	})
	t.Run("in forks", func(t *testing.T) { test(t, inForks(t)) })
}

// inForks makes resolvers that run the real yt-dlp in forks of one process, confined as in production.
func inForks(t *testing.T) resolverMaker {
	t.Helper()
	path := pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")
	var log logbuffer.Buffer
	server := ytdlp.NewForkServer(path, []string{}, slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() {
		if server.Runs() == 0 || log.String() != "" {
			t.Errorf("the command was run in %d of the cases: %s", server.Runs(), log.String())
		}
		server.Close()
	})
	return func(c ytdlp.Config) *ytdlp.Resolver {
		c.Site, c.Path, c.Files, c.ForkServer = youtube.Site(stream.Choices{}), path, []string{}, server
		return ytdlp.New(c, discardLog)
	}
}

// pythonTool makes a tool in Python whose function main(args) has a body. It resembles
// yt-dlp as far as the fork server needs.
func pythonTool(t *testing.T, main string) (path string) {
	t.Helper()
	python := must.Get(ytdlp.Interpreter(pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")))(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"yt-dlp": "#!" + python[0] + "\nimport sys\nfrom yt_dlp import main\nmain(sys.argv[1:])\n",
		"yt_dlp/__init__.py": "import os, signal, sys, time\nimported_by = os.getpid()\n" +
			"signal.signal(signal.SIGUSR1, lambda *_: os.write(sys.modules['__main__'].replies, b'rubbish\\n'))\ndef main(args):\n    " + strings.ReplaceAll(main, "\n", "\n    ") + "\n",
		"yt_dlp/version.py": "",
	} {
		file := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, []byte(text), 0o755))
	}
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1") // they would change the directory
	return filepath.Join(dir, "yt-dlp")
}

// answer is what the tool of startForks prints.
type answer struct {
	ImportedBy, PID int
	Args            []string
	Proxy           string // HTTPS_PROXY of its environment
}

func (a answer) forked() bool { return a.ImportedBy != a.PID }

const printAnswer = `
import json
print(json.dumps({"ImportedBy": imported_by, "PID": os.getpid(), "Args": args, "Proxy": os.environ.get("HTTPS_PROXY", "")}))`

// forks is a fork server of a made-up tool.
type forks struct {
	*ytdlp.ForkServer
	t    *testing.T
	path string
	log  *logbuffer.Buffer
}

// startForks makes a fork server whose runs do what main says and then print their answer.
func startForks(t *testing.T, main string) forks {
	t.Helper()
	return newForks(t, pythonTool(t, main+printAnswer), nil)
}

// startConfinedForks is startForks with runs that are confined.
func startConfinedForks(t *testing.T, main string) forks {
	t.Helper()
	path := pythonTool(t, main+printAnswer)
	return newForks(t, path, []string{filepath.Dir(path)})
}

func newForks(t *testing.T, path string, files []string) forks {
	t.Helper()
	f := forks{t: t, path: path, log: &logbuffer.Buffer{}}
	f.ForkServer = ytdlp.NewForkServer(path, files, slog.New(slog.NewTextHandler(f.log, nil)))
	t.Cleanup(f.Close)
	return f
}

func (f forks) ask(args ...string) (a answer) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	res, err := f.Run(ctx, subprocess.Command{Path: f.path, Args: args})
	if err == nil {
		err = json.Unmarshal(res.Stdout, &a)
	}
	if err != nil || !slices.Equal(a.Args, args) {
		f.t.Errorf("%v; %+v", err, res)
	}
	return a
}

// wantForked asks, and checks whether the question was run in a fork.
func (f forks) wantForked(forked bool, args ...string) {
	f.t.Helper()
	if a := f.ask(args...); a.forked() != forked {
		f.t.Errorf("got %+v, want a fork: %v", a, forked)
	}
}

func TestQuestionsRunAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	f := startForks(t, `
open(args[0] + "/" + str(os.getpid()), "w").close()
while len(os.listdir(args[0])) < 4: time.sleep(0.01)`)
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() { f.ask(dir) })
	}
	asking.Wait()
}

func TestRunsAreApart(t *testing.T) {
	for name, main := range map[string]string{
		"each leaves the CPU to segments": `
assert os.nice(0) == min(os.getpriority(os.PRIO_PROCESS, os.getppid()) + 10, 19), os.nice(0)`,
		"nothing passes from one to the next": `
assert not hasattr(sys, "mark"), "left by another run"
sys.mark = True`,
	} {
		t.Run(name, func(t *testing.T) {
			f := startForks(t, main)
			f.ask()
			f.ask()
		})
	}
}

func TestARunHasItsOwnEnvironment(t *testing.T) {
	f := startForks(t, "")
	for _, want := range []string{"http://a.example:1", "", "http://b.example:1"} {
		env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HTTPS_PROXY=") })
		if want != "" {
			env = append(env, "HTTPS_PROXY="+want)
		}
		res, err := f.Run(t.Context(), subprocess.Command{Path: f.path, Env: env})
		var got answer
		if jsonErr := json.Unmarshal(res.Stdout, &got); err != nil || jsonErr != nil || got.Proxy != want || !got.forked() {
			t.Errorf("got %+v, %v, %v; want %q", got, err, jsonErr, want)
		}
	}
}

func TestAProcessIsReplaced(t *testing.T) {
	t.Run("after so many runs", func(t *testing.T) {
		f := startForks(t, "")
		f.Limit(2, time.Hour, time.Minute, time.Minute)
		a, b, c := f.ask(), f.ask(), f.ask()
		if a.ImportedBy != b.ImportedBy || c.ImportedBy == a.ImportedBy || !c.forked() {
			t.Errorf("got %+v, %+v, %+v", a, b, c)
		}
		await.End(t, a.ImportedBy)
	})
	for name, change := range map[string]func(dir string) error{
		"when yt-dlp was upgraded": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "yt_dlp/version.py"), []byte("#"), 0o644)
		},
		"when a package beside it was upgraded":   func(dir string) error { return os.Mkdir(filepath.Join(dir, "yt_dlp_ejs-9.dist-info"), 0o755) },
		"when the executable has another version": func(dir string) error { return os.Chtimes(filepath.Join(dir, "yt-dlp"), time.Time{}, time.Unix(1, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			f := startForks(t, "")
			before := f.ask()
			must.Do(t, change(filepath.Dir(f.path)))
			if after := f.ask(); after.ImportedBy == before.ImportedBy || !after.forked() {
				t.Errorf("got %+v and %+v", before, after)
			}
			await.End(t, before.ImportedBy)
		})
	}
	t.Run("when it was not used for long", func(t *testing.T) {
		f := startForks(t, "")
		f.Limit(1000, 50*time.Millisecond, time.Minute, time.Minute)
		var before answer
		await.True(t, "a process is asked before it ends", func() bool { before = f.ask(); return before.forked() })
		await.End(t, before.ImportedBy)
		f.Limit(1000, time.Hour, time.Minute, time.Minute)
		f.wantForked(true)
	})
	t.Run("its runs end before it", func(t *testing.T) {
		dir := t.TempDir()
		f := startForks(t, `
open(args[0] + "/began", "w").close()
while not os.path.exists(args[0] + "/go on"): time.sleep(0.01)`)
		f.Limit(1, time.Hour, time.Minute, time.Minute)
		var asking sync.WaitGroup
		asking.Go(func() { f.wantForked(true, dir) })
		await.True(t, "it has begun", func() bool { _, err := os.Stat(dir + "/began"); return err == nil })
		_ = os.WriteFile(dir+"/go on", nil, 0o644)
		f.ask(dir)
		asking.Wait()
	})
}

func TestALostRunIsRepeatedByTheCommand(t *testing.T) {
	const once = `
forked = os.getpid() != imported_by
`
	for name, c := range map[string]struct{ main, log string }{
		"when the run crashes":            {"if forked: os.kill(os.getpid(), signal.SIGSEGV)", "crashed"},
		"when the process crashes":        {"if forked: os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)", "has failed"},
		"when the process prints rubbish": {"if forked: os.kill(os.getppid(), signal.SIGUSR1); time.sleep(60)", "has failed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := startForks(t, once+c.main)
			if a := f.ask(); a.forked() || f.log.Count("level=WARN") != 1 || !f.log.Contains(c.log) {
				t.Errorf("got %+v, the log is %s", a, f.log)
			}
		})
	}
	t.Run("when the process hangs, as are those that it held", func(t *testing.T) {
		dir := t.TempDir()
		f := startForks(t, once+`
if forked:
    server, folder = os.getppid(), args[0]
    open(folder + "/" + str(os.getpid()), "w").close()
    while len(os.listdir(folder)) < 3: time.sleep(0.01)
    os.kill(server, signal.SIGSTOP)
    while ") T " not in open("/proc/%d/stat" % server).read(): time.sleep(0.01)
    open(folder + "/stopped", "w").close()
    time.sleep(60)`)
		f.Limit(1000, time.Hour, 5*time.Second, time.Minute)
		var asking sync.WaitGroup
		ask := func() { f.wantForked(false, dir) }
		for range 3 {
			asking.Go(ask)
		}
		await.True(t, "the process is stopped", func() bool { _, err := os.Stat(dir + "/stopped"); return err == nil })
		asking.Go(ask)
		asking.Wait()
		if f.log.Count("level=WARN") != 1 || !f.log.Contains("does not answer") {
			t.Errorf("the log is %s", f.log)
		}
	})
	t.Run("after a pause another process is started", func(t *testing.T) {
		f := startForks(t, `
if args: os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)`)
		f.Limit(1000, time.Hour, time.Minute, time.Hour)
		_, _ = f.Run(t.Context(), subprocess.Command{Path: "/bin/true", Args: []string{"crash"}})
		f.wantForked(false)
		f.Limit(1000, time.Hour, time.Minute, 0)
		f.wantForked(true)
	})
}

func TestWithoutAProcessTheCommandIsRun(t *testing.T) {
	for name, c := range map[string]struct{ spoil, log string }{
		"yt-dlp is no Python script": {"#!/bin/sh\nexec \"$0.real\" \"$@\"\n", "no Python script"},
		"yt-dlp is a binary":         {"\x7fELF", "no Python script"},
		"it cannot be imported":      {"", "no module named lost"},
	} {
		t.Run(name, func(t *testing.T) {
			f := startForks(t, "")
			command := f.path
			if c.spoil != "" {
				command = f.path + ".real"
				_ = os.Rename(f.path, command)
				_ = os.WriteFile(f.path, []byte(c.spoil), 0o755)
			} else {
				// Only the fork server loads it without its main module.
				init := filepath.Join(filepath.Dir(f.path), "yt_dlp/__init__.py")
				text, _ := os.ReadFile(init)
				_ = os.WriteFile(init, append([]byte("if '-c' in __import__('sys').orig_argv: raise ImportError('no module named lost')\n"), text...), 0o644)
			}
			f.Limit(1000, time.Hour, time.Minute, 0) // each run tries again
			for range 2 {
				res, err := f.Run(t.Context(), subprocess.Command{Path: command})
				if err != nil || !strings.Contains(string(res.Stdout), "ImportedBy") {
					t.Errorf("%v; %+v", err, res)
				}
			}
			if f.log.Count("\n") != 1 || !f.log.Contains("level=INFO") || !f.log.Contains(c.log) {
				t.Errorf("the log is %s", f.log)
			}
			expect.Failure(t, f.Check(t.Context()), c.log)
		})
	}
}

// processes are those of a run that has started another one, as yt-dlp starts deno.
type processes struct{ run, server, child int }

const startChild = `
import subprocess
child = subprocess.Popen(["sleep", "60"])
open(args[0] + ".new", "w").write(f"{os.getpid()} {os.getppid()} {child.pid}")
os.rename(args[0] + ".new", args[0])
time.sleep(60)`

func readProcesses(t *testing.T, file string) (p processes) {
	t.Helper()
	var text []byte
	await.True(t, "it has begun", func() bool { text, _ = os.ReadFile(file); return len(text) > 0 })
	must.Get(fmt.Sscan(string(text), &p.run, &p.server, &p.child))(t)
	return p
}

func TestWhatARunHasStartedEndsWithIt(t *testing.T) {
	for name, end := range map[string]func(f forks, p processes, cancel func()) error{
		"when the run is cancelled":                func(_ forks, _ processes, cancel func()) error { cancel(); return nil },
		"when the run is killed":                   func(_ forks, p processes, _ func()) error { return syscall.Kill(p.run, syscall.SIGKILL) },
		"when the process that stays up is killed": func(_ forks, p processes, _ func()) error { return syscall.Kill(p.server, syscall.SIGKILL) },
		"when the process that stays up is closed": func(f forks, p processes, _ func()) error {
			f.Close()
			await.End(f.t, p.server)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := startForks(t, startChild)
			file := filepath.Join(t.TempDir(), "processes")
			ctx, cancel := context.WithCancel(t.Context())
			var asking sync.WaitGroup
			asking.Go(func() { _, _ = f.Run(ctx, subprocess.Command{Path: "/bin/true", Args: []string{file}}) })
			p := readProcesses(t, file)
			must.Do(t, end(f, p, cancel))
			await.End(t, p.run)
			await.End(t, p.child)
			cancel()
			asking.Wait()
		})
	}
}

func TestWhatARunHasStartedEndsWithAServerThatHasNotGoneOn(t *testing.T) {
	f := startForks(t, startChild)
	init := filepath.Join(filepath.Dir(f.path), "yt_dlp/__init__.py")
	text := must.Get(os.ReadFile(init))(t)
	must.Do(t, os.WriteFile(init, append([]byte(`
import os, sys, time
server, setpgid = os.getpid(), os.setpgid
os.setpgid = lambda *group: time.sleep(60) if os.getpid() == server else setpgid(*group)
`), text...), 0o644))
	file := filepath.Join(t.TempDir(), "processes")
	var asking sync.WaitGroup
	asking.Go(func() { _, _ = f.Run(t.Context(), subprocess.Command{Path: "/bin/true", Args: []string{file}}) })
	p := readProcesses(t, file)
	must.Do(t, syscall.Kill(p.server, syscall.SIGKILL))
	await.End(t, p.run)
	await.End(t, p.child)
	asking.Wait()
}

func TestTheInterpreterIsThatOfTheFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"#!/opt/venv/bin/python3\nimport sys\n":                                        "/opt/venv/bin/python3",
		"#! /usr/bin/python3.14 -sP\n":                                                 "/usr/bin/python3.14 -sP",
		"#!/usr/bin/env python3\nPK\x03\x04":                                           "python3",
		"#!/usr/bin/env -S python3 -I\n":                                               "python3 -I",
		"#!/bin/sh\n'''exec' \"/a b/venv/bin/python\" \"$0\" \"$@\"\n' '''\nimport re": "/a b/venv/bin/python",
		"#!/bin/sh\n'''exec' /long/venv/bin/python \"$0\" \"$@\"\n' '''\n":             "/long/venv/bin/python",
		"#!/bin/sh\nexec python3 yt-dlp\n":                                             "",
		"#!/usr/bin/env\n":                                                             "",
		"#!\n":                                                                         "",
		"#!/usr/bin/perl\n":                                                            "",
		"\x7fELF":                                                                      "",
		"":                                                                             "",
	} {
		path := filepath.Join(t.TempDir(), "tool")
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		got, err := ytdlp.Interpreter(path)
		if (err != nil) != (want == "") || err == nil && strings.Join(got, " ") != want {
			t.Errorf("of %q: %q, %v", text, got, err)
		}
	}
}
