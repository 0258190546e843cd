package subprocess_test

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

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
	res := must.Get(subprocess.Run(t.Context(), c))(t)
	return res
}
