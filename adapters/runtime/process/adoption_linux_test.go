package process_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestWorkersOfAnEarlierGatewayAreAdopted(t *testing.T) {
	launchertest.RunAdoption(t, func(t *testing.T, running []supervisor.WorkerSpec) launchertest.Harness {
		r := newHarnessWithoutLauncher(t)
		r.startEarlierGateway(nil, running...).kill()
		r.startLauncher(nil)
		return launchertest.Harness{
			Launcher: r.launcher, Close: r.launcher.Close, Alive: r.alive, GracePeriod: gracePeriod,
			Kill: func(id monitor.ID) { r.signal(id, syscall.SIGKILL) },
		}
	})
}

// record is the path of a worker's record.
func (r *harness) record(spec supervisor.WorkerSpec) string {
	return filepath.Join(r.runDir, fmt.Sprintf("%s.%d.json", spec.ID, spec.Generation))
}

// edit changes a record to what a gateway might have left.
func (r *harness) edit(spec supervisor.WorkerSpec, change func(record map[string]any)) {
	r.t.Helper()
	b, err := os.ReadFile(r.record(spec))
	if err != nil {
		r.t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(b, &record); err != nil {
		r.t.Fatal(err)
	}
	change(record)
	if b, err = json.Marshal(record); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.record(spec), b, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func withoutProcess(record map[string]any) { delete(record, "process") }

// inRecord returns the process of a record.
func inRecord(record map[string]any) map[string]any { return record["process"].(map[string]any) }

// Decision O4.
func TestAWorkerIsAdoptedWhereverInALaunchItsGatewayDied(t *testing.T) {
	for name, left := range map[string]func(*harness, supervisor.WorkerSpec){
		"after the worker was recorded": func(*harness, supervisor.WorkerSpec) {},
		"before the process was recorded": func(r *harness, spec supervisor.WorkerSpec) {
			r.edit(spec, withoutProcess)
		},
		"while the process was recorded": func(r *harness, spec supervisor.WorkerSpec) {
			r.edit(spec, withoutProcess)
			draft := filepath.Join(r.runDir, ".new-"+filepath.Base(r.record(spec)))
			if err := os.WriteFile(draft, []byte(`{"monitor_id":"mon-`), 0o600); err != nil {
				r.t.Fatal(err)
			}
		},
		"and the record was lost": func(r *harness, spec supervisor.WorkerSpec) {
			if err := os.Remove(r.record(spec)); err != nil {
				r.t.Fatal(err)
			}
		},
		"and the record was cut": func(r *harness, spec supervisor.WorkerSpec) {
			if err := os.Truncate(r.record(spec), 20); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, spec := newHarnessWithoutLauncher(t), newSpec(launchertest.StopsWhenAsked)
			r.startEarlierGateway(nil, spec).kill()
			left(r, spec)
			worker := r.pid(spec.ID)
			r.startLauncher(nil)
			r.expectListed(spec.Generation)
			r.launch(spec)
			if now := r.pid(spec.ID); now != worker {
				t.Errorf("process %d runs, want the adopted %d", now, worker)
			}
			stem := strings.TrimSuffix(filepath.Base(r.record(spec)), ".json")
			r.expectFiles(stem+".json", stem+".log")
			r.edit(spec, func(record map[string]any) {
				if got := inRecord(record)["pid"]; got != float64(worker) {
					t.Errorf("the record names process %v, want %d", got, worker)
				}
			})
			if err := r.launcher.Stop(t.Context(), spec.ID); err != nil {
				t.Error(err)
			}
			r.expectFiles()
		})
	}

	t.Run("before the worker was started", func(t *testing.T) {
		r, spec := newHarnessWithoutLauncher(t), newSpec(launchertest.StopsWhenAsked)
		gateway := r.startEarlierGateway(nil, spec)
		worker := r.pid(spec.ID)
		gateway.kill()
		r.edit(spec, withoutProcess)
		_ = syscall.Kill(worker, syscall.SIGKILL)
		r.eventually("its end", func() bool { return len(r.alive(spec.ID)) == 0 })
		r.startLauncher(nil)
		r.expectListed()
		r.expectFiles()
		r.launch(spec)
		r.eventually("the worker", func() bool { return len(r.alive(spec.ID)) == 1 })
	})
}

// arguments returns those of a worker.
func (r *harness) arguments(spec supervisor.WorkerSpec) []string {
	r.t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", r.pid(spec.ID)))
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")[1:]
}

// startCopy starts another generation of a worker.
func (r *harness) startCopy(spec supervisor.WorkerSpec, generation int) {
	r.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.pid(spec.ID)))
	if err != nil {
		r.t.Fatal(err)
	}
	env := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	token := monitor.NewTokenKey("internal-key").Token(spec.ID, generation)
	args := append(r.arguments(spec), fmt.Sprintf("--generation=%d", generation)) // the last one counts
	spawn(r.t, append(env, fmt.Sprintf("GENERATION=%d", generation), "INTERNAL_API_KEY="+token), args...)
	r.eventually("the copy", func() bool { return slices.Contains(r.alive(spec.ID), generation) })
}

func TestTheNewestOfSeveralGenerationsIsKept(t *testing.T) {
	for _, c := range []struct {
		name      string
		behaviour launchertest.Behaviour
		other     int
		kept      int
		ended     int
	}{
		{"the recorded one is older", launchertest.StopsWhenAsked, 4, 4, 3},
		{"the recorded one is older and ignores its stop", launchertest.IgnoresStop, 4, 4, 3},
		{"the recorded one is newer", launchertest.StopsWhenAsked, 2, 3, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, spec := newHarnessWithoutLauncher(t), newSpec(c.behaviour)
			gateway := r.startEarlierGateway(nil, spec)
			r.startCopy(spec, c.other)
			gateway.kill()
			r.startLauncher(nil)
			r.expectListed(c.kept)
			spec.Generation = c.kept
			r.launch(spec)
			if e := r.exit(); e.ID != spec.ID || e.Generation != c.ended {
				t.Errorf("ended has %+v, want generation %d", e, c.ended)
			}
			if got := r.alive(spec.ID); !slices.Equal(got, []int{c.kept}) {
				t.Errorf("generations %v run, want %d", got, c.kept)
			}
			r.expectListed(c.kept)
		})
	}
}

// A worker that cannot report to this gateway is ended within 5 s, and its exit reported.
func TestAWorkerThatReportsElsewhereIsEnded(t *testing.T) {
	for name, change := range map[string]func(*earlierConfig){
		"to another address": func(p *earlierConfig) { p.GatewayURL = "http://127.0.0.1:9091" },
		"with another key":   func(p *earlierConfig) { p.Key = "rotated" },
	} {
		t.Run(name, func(t *testing.T) {
			r, spec := newHarnessWithoutLauncher(t), newSpec(hasToolsIgnoresStop)
			r.startEarlierGateway(change, spec).kill()
			r.startLauncher(nil)
			r.expectListed()
			r.launch(spec) // waits for it
			if e := r.exit(); e.ID != spec.ID || e.Generation != spec.Generation {
				t.Errorf("got %+v", e)
			}
			r.eventually("the new worker", func() bool { return len(r.alive(spec.ID)) == 1 })
			r.expectListed(spec.Generation)
		})
	}
}

func TestAStoppedProcessCanBeEnded(t *testing.T) {
	for _, outlived := range []bool{false, true} {
		t.Run(fmt.Sprintf("adopted is %v", outlived), func(t *testing.T) {
			r, spec := newHarnessWithoutLauncher(t), newSpec(launchertest.StopsWhenAsked)
			patient := func(c *process.Config) { c.GracePeriod = time.Hour }
			if outlived {
				r.startEarlierGateway(nil, spec).kill()
			}
			r.startLauncher(patient)
			r.launch(spec)
			r.eventually("the worker", func() bool { return len(r.alive(spec.ID)) == 1 })
			r.signal(spec.ID, syscall.SIGSTOP)
			worker := r.pid(spec.ID)
			r.eventually("the worker to be suspended", func() bool { return state(worker) == "T" })
			if err := r.launcher.Stop(t.Context(), spec.ID); err != nil {
				t.Error(err)
			}
			if e := r.exit(); strings.Contains(e.Detail, "SIGKILL") {
				t.Errorf("it was killed: %+v", e)
			}
		})
	}
}
