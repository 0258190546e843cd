package subprocess_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

// asParent makes the test binary one that runs a tool, in the way that its value names.
const asParent = "CHILD_TEST_PARENT"

// parents run a tool and say how that went.
var parents = map[string]func(){
	"runs": func() {
		_, _ = subprocess.Run(context.Background(), sh("echo $$ >"+os.Getenv("IDS")+"; exec sleep 60"))
	},
	"limits": func() { runAndPrint("echo it runs", subprocess.Limits{NoFileWrites: true}, nil) },
	"confines": func() {
		runAndPrint("read _; ulimit -n", subprocess.Limits{OpenFiles: 50}, &subprocess.Confinement{Network: true})
		for _, missing := range subprocess.Missing() {
			fmt.Println(missing)
		}
		status, _ := os.ReadFile("/proc/self/status") // of the main thread
		if strings.Contains(string(status), "Seccomp:\t2\nSeccomp_filters:\t2") {
			fmt.Println("the main thread is confined")
		}
	},
}

func runAndPrint(script string, limits subprocess.Limits, confinement *subprocess.Confinement) {
	c := sh(script)
	c.Limits, c.Confinement, c.Stdin = limits, confinement, strings.NewReader("\n")
	res, err := subprocess.Run(context.Background(), c)
	fmt.Printf("%s%v\n", res.Stdout, err)
}

// parentThat returns the command of a parent.
func parentThat(t *testing.T, does string, env ...string) *exec.Cmd {
	t.Helper()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(append(os.Environ(), env...), asParent+"="+does)
	return parent
}

func TestMain(m *testing.M) {
	if run := parents[os.Getenv(asParent)]; run != nil {
		run()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// sh is a tool made of a shell script.
func sh(script string, args ...string) subprocess.Command {
	return subprocess.Command{Path: "/bin/sh", Args: append([]string{"-c", script, "sh"}, args...), GracePeriod: 200 * time.Millisecond}
}

func TestRunReportsWhatTheToolLeft(t *testing.T) {
	t.Run("output on both streams and an exit code are no error", func(t *testing.T) {
		res := mustRun(t, sh("echo out; echo err >&2; exit 7"))
		if string(res.Stdout) != "out\n" || string(res.Stderr) != "err\n" || res.ExitCode != 7 || res.Signal != "" || res.Truncated {
			t.Errorf("got %+v", res)
		}
	})
	t.Run("the signal that ended it is named", func(t *testing.T) {
		if res := mustRun(t, sh("kill -9 $$")); res.Signal != "killed" || res.ExitCode != -1 {
			t.Errorf("got %+v", res)
		}
	})
	t.Run("an environment of its own replaces the inherited one", func(t *testing.T) {
		c := sh("echo $CHILD_TEST_VALUE")
		c.Env = []string{"CHILD_TEST_VALUE=theirs"}
		if res := mustRun(t, c); string(res.Stdout) != "theirs\n" {
			t.Errorf("got %q", res.Stdout)
		}
	})
}

func TestRunReportsWhyAToolCannotStart(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	for name, path := range map[string]string{
		"a name that is not in PATH":                "no-such-tool-anywhere",
		"a path that is not there":                  filepath.Join(dir, "nothing"),
		"a directory":                               dir,
		"a file without execute permission":         write("plain", "#!/bin/sh\n", 0o644),
		"a script whose interpreter does not exist": write("orphan", "#!/no/such/python3\n", 0o755),
		"a file that is no program":                 write("rubbish", "\x00\x01\x02\x03", 0o755),
		"a path through a file":                     filepath.Join(write("leaf", "", 0o644), "tool"),
	} {
		t.Run(name+" is missing", func(t *testing.T) {
			_, err := subprocess.Run(t.Context(), subprocess.Command{Path: path})
			if !errors.Is(err, subprocess.ErrNotInstalled) {
				t.Fatalf("got %v, want ErrMissing", err)
			}
			if !strings.Contains(err.Error(), path) || strings.Count(err.Error(), path) != 1 {
				t.Fatalf("%q does not name the path once", err)
			}
		})
	}

	t.Run("a context that is done is the error", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("shutting down")
		cancel(reason)
		if _, err := subprocess.Run(ctx, sh("true")); !errors.Is(err, reason) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestRunLimitsOutput(t *testing.T) {
	c := sh("head -c 104857600 /dev/zero; echo loud >&2")
	c.MaxOutput = 4096
	res := mustRun(t, c)
	if len(res.Stdout) != 4096 || cap(res.Stdout) > 1<<20 || !res.Truncated {
		t.Fatalf("kept %d of 100 MB in %d bytes, truncated %v", len(res.Stdout), cap(res.Stdout), res.Truncated)
	}
	if res.ExitCode != 0 || string(res.Stderr) != "loud\n" {
		t.Fatalf("the tool was not let to its end: %+v", res)
	}

	t.Run("output of exactly the limit is whole", func(t *testing.T) {
		c := sh("printf 1234")
		c.MaxOutput = 4
		if res := mustRun(t, c); res.Truncated || string(res.Stdout) != "1234" {
			t.Errorf("got %+v", res)
		}
	})
}

func TestRunEndsTheWholeGroup(t *testing.T) {
	tests := map[string]struct {
		script string // $1 is where to write the ids of all its processes
		cancel bool
		stays  bool // it has a session of its own, and must only not delay Run
	}{
		"a tool that ends on SIGTERM":                             {script: `echo $$ >"$1"; exec sleep 60`, cancel: true},
		"a tool that ignores SIGTERM":                             {script: `trap "" TERM; echo $$ >"$1"; while :; do sleep 1; done`, cancel: true},
		"a grandchild that holds the pipe after its parent ended": {script: `sleep 60 & echo "$! $$" >"$1"; echo done`},
		"a grandchild in its own session": {
			script: `setsid sh -c 'echo $$ >"$1"; exec sleep 60' sh "$1" & while [ ! -s "$1" ]; do :; done; echo done`, stays: true,
		},
		"a grandchild that ignores SIGTERM": {
			script: `sh -c 'trap "" TERM; while :; do sleep 1; done' & echo "$! $$" >"$1"; wait`, cancel: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ids := filepath.Join(t.TempDir(), "ids")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			watched := make(chan struct{})
			go func() {
				defer close(watched)
				if tc.cancel {
					readIDs(t, ids)
					cancel()
				}
			}()
			began := time.Now()
			_, err := subprocess.Run(ctx, sh(tc.script, ids))
			<-watched
			if tc.cancel != errors.Is(err, context.Canceled) {
				t.Errorf("got error %v", err)
			}
			if took := time.Since(began); took > await.Limit {
				t.Errorf("took %v", took)
			}
			for _, id := range readIDs(t, ids) {
				if tc.stays {
					_ = syscall.Kill(id, syscall.SIGKILL)
				}
				await.End(t, id)
			}
		})
	}
}

func TestTheToolDiesWithAProcessThatIsKilled(t *testing.T) {
	ids := filepath.Join(t.TempDir(), "ids")
	parent := parentThat(t, "runs", "IDS="+ids)
	must.Do(t, parent.Start())
	tool := readIDs(t, ids)
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for _, id := range tool {
		await.End(t, id)
	}
}

func TestRunFeedsStandardInput(t *testing.T) {
	t.Run("the tool reads all input", func(t *testing.T) {
		c := sh("wc -c")
		c.Stdin = io.LimitReader(zeros{}, 3<<20)
		res, err := subprocess.Run(t.Context(), c)
		if err != nil || strings.TrimSpace(string(res.Stdout)) != "3145728" || res.InputErr != nil {
			t.Fatalf("got %+v, %v", res, err)
		}
	})

	t.Run("the error of reading the input is returned", func(t *testing.T) {
		broken := errors.New("the source broke")
		c := sh("wc -c")
		c.Stdin = io.MultiReader(bytes.NewReader(make([]byte, 10)), failing{broken})
		res, err := subprocess.Run(t.Context(), c)
		if err != nil || !errors.Is(res.InputErr, broken) || strings.TrimSpace(string(res.Stdout)) != "10" {
			t.Fatalf("got %+v, %v", res, err)
		}
	})

	t.Run("a reader that blocks can be closed when the tool has ended", func(t *testing.T) {
		c := sh("exit 3")
		stdin, writer := io.Pipe()
		c.Stdin, c.OnExit = stdin, func() { _ = writer.Close() }
		if res, err := subprocess.Run(t.Context(), c); err != nil || res.ExitCode != 3 {
			t.Fatalf("got %+v, %v", res, err)
		}
	})

	t.Run("a tool reads further inputs, or leaves them", func(t *testing.T) {
		for script, want := range map[string]string{"cat <&4; cat <&3": "secondfirst", "true": ""} {
			c := sh(script)
			c.Inputs = []io.Reader{strings.NewReader("first"), strings.NewReader("second")}
			if want == "" {
				c.Inputs[0] = zeros{}
			}
			if res := mustRun(t, c); string(res.Stdout) != want {
				t.Errorf("got %q, want %q: %s", res.Stdout, want, res.Stderr)
			}
		}
	})

	t.Run("a tool that stops reading is no error of the source", func(t *testing.T) {
		c := sh("head -c 1 >/dev/null; exit 3")
		c.Stdin = zeros{}
		res, err := subprocess.Run(t.Context(), c)
		if err != nil || res.InputErr != nil || res.ExitCode != 3 {
			t.Fatalf("got %+v, %v", res, err)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// readIDs waits for a script to have written the ids of its processes.
func readIDs(t *testing.T, path string) []int {
	t.Helper()
	var ids []int
	await.True(t, "the tool wrote its ids", func() bool {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.HasSuffix(text, []byte("\n")) {
			return false
		}
		ids = ids[:0]
		for field := range strings.FieldsSeq(string(text)) {
			id, err := strconv.Atoi(field)
			if err != nil {
				return false
			}
			ids = append(ids, id)
		}
		return len(ids) > 0
	})
	return ids
}

func TestTheToolHasNoMoreThanItsLimits(t *testing.T) {
	limited := func(l subprocess.Limits, script string, args ...string) subprocess.Result {
		t.Helper()
		c := sh(script, args...)
		c.Limits = l
		return mustRun(t, c)
	}

	t.Run("allocating more memory fails", func(t *testing.T) {
		// dd allocates its block size; the shell does nothing of it.
		for size, fits := range map[int]bool{48: true, 80: false} {
			res := limited(subprocess.Limits{DataBytes: 64 << 20}, "dd if=/dev/zero of=/dev/null count=1 bs="+strconv.Itoa(size)+"M")
			if (res.ExitCode == 0) != fits || !fits && !strings.Contains(string(res.Stderr), "memory") {
				t.Errorf("%d MB of 64: got %+v, %s", size, res, res.Stderr)
			}
		}
	})

	t.Run("using more CPU time raises SIGXCPU", func(t *testing.T) {
		res := limited(subprocess.Limits{CPUTime: time.Second / 2}, "while :; do :; done")
		if !strings.HasPrefix(res.Signal, "CPU time limit exceeded") || res.CPUTime < time.Second/2 {
			t.Errorf("got %+v", res)
		}
	})

	t.Run("a tool that ignores SIGXCPU is killed a second later", func(t *testing.T) {
		res := limited(subprocess.Limits{CPUTime: time.Second}, "trap '' XCPU; while :; do :; done")
		if res.Signal != "killed" || res.CPUTime < 3*time.Second/2 {
			t.Errorf("got %+v", res)
		}
	})

	t.Run("opening more files fails", func(t *testing.T) {
		res := limited(subprocess.Limits{OpenFiles: 8}, "exec 3<&0 4<&0 5<&0 6<&0 7<&0 && echo five; exec 8<&0; echo six")
		if string(res.Stdout) != "five\n" || res.ExitCode == 0 {
			t.Errorf("got %q, %+v", res.Stdout, res)
		}
	})

	t.Run("writing to a file fails, writing to a pipe does not", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		res := limited(subprocess.Limits{NoFileWrites: true}, `ulimit -Hc; echo x >"$1"; echo not reached`, file)
		if string(res.Stdout) != "0\n" || res.Signal != "file size limit exceeded" {
			t.Errorf("got %q, %+v", res.Stdout, res)
		}
		if b, err := os.ReadFile(file); err != nil || len(b) > 0 {
			t.Errorf("wrote %q, %v", b, err)
		}
	})

	t.Run("the tool's children have the same limits", func(t *testing.T) {
		all := subprocess.Limits{DataBytes: 64 << 20, CPUTime: 5 * time.Second, OpenFiles: 16, NoFileWrites: true}
		if res := limited(all, "sh -c 'ulimit -n; ulimit -d; ulimit -t; ulimit -f'"); string(res.Stdout) != "16\n65536\n5\n0\n" {
			t.Errorf("may have %q", res.Stdout)
		}
	})

	t.Run("no other limits are set", func(t *testing.T) {
		const script = "cat /proc/self/limits"
		few := strings.Split(string(limited(subprocess.Limits{CPUTime: math.MaxInt64}, script).Stdout), "\n")
		for i, line := range strings.Split(string(limited(subprocess.Limits{}, script).Stdout), "\n") {
			if i != 1 && line != few[i] { // the line of CPU time
				t.Errorf("limits are %q, want %q as without", few[i], line)
			}
		}
	})

	t.Run("no limit is raised above that of this process", func(t *testing.T) {
		const script = "ulimit -Sn; ulimit -Hn"
		free, high := limited(subprocess.Limits{}, script), limited(subprocess.Limits{OpenFiles: 1 << 40}, script)
		if string(high.Stdout) != string(free.Stdout) {
			t.Errorf("may open %q files, want %q as without", high.Stdout, free.Stdout)
		}
	})
}

// A tool that is given a URL reads what strangers send before any input.
func TestAToolHasItsLimitsBeforeItRuns(t *testing.T) {
	for range 50 {
		c := sh("ulimit -n; sh -c 'ulimit -n'")
		c.Limits = subprocess.Limits{OpenFiles: 50}
		if res := mustRun(t, c); string(res.Stdout) != "50\n50\n" {
			t.Fatalf("it may open %q files", res.Stdout)
		}
	}
}

func mustRun(t *testing.T, c subprocess.Command) subprocess.Result {
	t.Helper()
	return must.Get(subprocess.Run(t.Context(), c))(t)
}
