package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
)

// spawn starts a process that is not the launcher's, in its own session.
func spawn(t *testing.T, env []string, args ...string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^$"}, args...)...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reaped := make(chan struct{})
	go func() { defer close(reaped); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-reaped })
	return cmd.Process.Pid
}

// otherProcess starts a process that the launcher must not touch.
func otherProcess(t *testing.T) int {
	t.Helper()
	return spawn(t, append(os.Environ(), marksVariable+"="+t.TempDir(), "STREAM_URL=https://www.youtube.com/watch?v="+string(launchertest.IgnoresStop)))
}

// A process id in a record is no proof that the process is the worker.
func TestAProcessWithAReusedIDIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(process map[string]any){
		"the process id has been reused": func(map[string]any) {},
		"only the start time differs": func(process map[string]any) {
			process["start"] = process["start"].(float64) + 1
		},
		"the machine has been rebooted": func(process map[string]any) {
			process["boot"] = "00000000-0000-4000-8000-000000000000"
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, spec := newHarnessWithoutLauncher(t), newSpec(launchertest.StopsWhenAsked)
			gateway := r.startEarlierGateway(nil, spec)
			worker := r.pid(spec.ID)
			began := startOf(t, worker)
			gateway.kill()
			_ = syscall.Kill(worker, syscall.SIGKILL)
			r.eventually("its end", func() bool { return len(r.alive(spec.ID)) == 0 })
			stranger := otherProcess(t)
			for startOf(t, stranger) == began { // the kernel counts in hundredths of a second
				stranger = otherProcess(t)
			}
			r.edit(spec, func(record map[string]any) {
				process := inRecord(record)
				process["pid"] = stranger
				if name != "the process id has been reused" {
					process["start"] = float64(startOf(t, stranger))
				}
				change(process)
			})
			r.startLauncher(nil)
			r.expectListed()
			r.expectFiles()
			if err := r.launcher.Stop(t.Context(), spec.ID); err != nil {
				t.Error(err)
			}
			if err := r.launcher.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if s := state(stranger); s == "" || s == "Z" {
				t.Error("a stranger was killed")
			}
		})
	}

	t.Run("a worker of another directory is left alone", func(t *testing.T) {
		here, there := newHarnessWithoutLauncher(t), newHarnessWithoutLauncher(t)
		spec := newSpec(launchertest.StopsWhenAsked)
		there.startEarlierGateway(nil, spec).kill()
		// A copied directory has the same id and the same records.
		for _, name := range []string{"id", filepath.Base(there.record(spec))} {
			b, err := os.ReadFile(filepath.Join(there.runDir, name))
			if err != nil {
				t.Fatal(err)
			}
			here.writeFile(name, string(b))
		}
		here.startLauncher(nil)
		here.expectListed()
		if err := here.launcher.Close(t.Context()); err != nil {
			t.Error(err)
		}
		there.startLauncher(nil)
		there.expectListed(spec.Generation)
	})
}

// A tool carries all of its worker's environment.
func TestAProcessThatAWorkerStartedIsNoWorker(t *testing.T) {
	r, spec := newHarnessWithoutLauncher(t), newSpec(launchertest.StopsWhenAsked)
	r.startEarlierGateway(nil, spec).kill()
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.pid(spec.ID)))
	if err != nil {
		t.Fatal(err)
	}
	env := slices.DeleteFunc(strings.Split(string(environ), "\x00"), func(word string) bool { return strings.HasPrefix(word, marksVariable+"=") })
	started := spawn(t, append(env, marksVariable+"="+t.TempDir(), "STREAM_URL=https://www.youtube.com/watch?v="+string(launchertest.IgnoresStop)))
	r.startLauncher(nil)
	r.expectListed(spec.Generation)
	if err := r.launcher.Stop(t.Context(), spec.ID); err != nil {
		t.Error(err)
	}
	if s := state(started); s == "" || s == "Z" {
		t.Error("it was taken for one, and killed")
	}
}

// startOf returns the start time of a process, field 22 of proc_pid_stat(5).
func startOf(t *testing.T, pid int) (start uint64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	if _, err := fmt.Sscan(strings.Fields(rest)[19], &start); err != nil {
		t.Fatal(err)
	}
	return start
}
