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

func TestWorkersThatHaveOutlivedTheirGateway(t *testing.T) {
	launchertest.RunAdoption(t, func(t *testing.T, running []supervisor.WorkerSpec) launchertest.Harness {
		r := prepare(t)
		r.earlier(nil, running...).kill()
		r.open(nil)
		return launchertest.Harness{
			Launcher: r.launcher, Close: r.launcher.Close, Alive: r.alive, GracePeriod: grace,
			Kill: func(id monitor.ID) { r.signal(id, syscall.SIGKILL) },
		}
	})
}

// The file that says what is known of a job's worker.
func (r *rig) record(j supervisor.WorkerSpec) string {
	return filepath.Join(r.runDir, fmt.Sprintf("%s.%d.json", j.ID, j.Generation))
}

// edit changes a record as a gateway might have left it.
func (r *rig) edit(j supervisor.WorkerSpec, change func(record map[string]any)) {
	r.t.Helper()
	b, err := os.ReadFile(r.record(j))
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
	if err := os.WriteFile(r.record(j), b, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func withoutProcess(record map[string]any) { delete(record, "process") }

// process is what a record says of the process.
func inRecord(record map[string]any) map[string]any { return record["process"].(map[string]any) }

// Wherever in a launch the gateway was killed, what runs is adopted.
func TestAGatewayThatDiesAroundALaunch(t *testing.T) {
	for name, left := range map[string]func(*rig, supervisor.WorkerSpec){
		"with the worker on record": func(*rig, supervisor.WorkerSpec) {},
		"before it could record what it had started": func(r *rig, j supervisor.WorkerSpec) {
			r.edit(j, withoutProcess)
		},
		"while it recorded what it had started": func(r *rig, j supervisor.WorkerSpec) {
			r.edit(j, withoutProcess)
			draft := filepath.Join(r.runDir, ".new-"+filepath.Base(r.record(j)))
			if err := os.WriteFile(draft, []byte(`{"monitor_id":"mon-`), 0o600); err != nil {
				r.t.Fatal(err)
			}
		},
		"on a disk that lost the record": func(r *rig, j supervisor.WorkerSpec) {
			if err := os.Remove(r.record(j)); err != nil {
				r.t.Fatal(err)
			}
		},
		"on a disk that cut the record": func(r *rig, j supervisor.WorkerSpec) {
			if err := os.Truncate(r.record(j), 20); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, j := prepare(t), job(launchertest.StopsWhenAsked)
			r.earlier(nil, j).kill()
			left(r, j)
			worker := r.pid(j.ID)
			r.open(nil)
			r.expectListed(j.Generation)
			r.launch(j)
			if now := r.pid(j.ID); now != worker {
				t.Errorf("process %d runs, want the adopted %d", now, worker)
			}
			stem := strings.TrimSuffix(filepath.Base(r.record(j)), ".json")
			r.expectFiles(stem+".json", stem+".log")
			r.edit(j, func(record map[string]any) {
				if got := inRecord(record)["pid"]; got != float64(worker) {
					t.Errorf("on record is process %v, want %d", got, worker)
				}
			})
			if err := r.launcher.Stop(t.Context(), j.ID); err != nil {
				t.Error(err)
			}
			r.expectFiles()
		})
	}

	t.Run("before it started anything", func(t *testing.T) {
		r, j := prepare(t), job(launchertest.StopsWhenAsked)
		gateway := r.earlier(nil, j)
		worker := r.pid(j.ID)
		gateway.kill()
		r.edit(j, withoutProcess)
		_ = syscall.Kill(worker, syscall.SIGKILL)
		r.eventually("its end", func() bool { return len(r.alive(j.ID)) == 0 })
		r.open(nil)
		r.expectListed()
		r.expectFiles()
		r.launch(j)
		r.eventually("the worker", func() bool { return len(r.alive(j.ID)) == 1 })
	})
}

// twin starts what a worker would be that had another generation.
func (r *rig) twin(j supervisor.WorkerSpec, generation int) {
	r.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.pid(j.ID)))
	if err != nil {
		r.t.Fatal(err)
	}
	env := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	spawn(r.t, append(env, fmt.Sprintf("GENERATION=%d", generation)))
	r.eventually("the twin", func() bool { return slices.Contains(r.alive(j.ID), generation) })
}

func TestOfSeveralGenerationsTheNewestIsKept(t *testing.T) {
	for _, c := range []struct {
		name      string
		behaviour launchertest.Behaviour
		other     int
		kept      int
		ended     int
	}{
		{"the one on record is older", launchertest.StopsWhenAsked, 4, 4, 3},
		{"the one on record is older and stubborn", launchertest.IgnoresStop, 4, 4, 3},
		{"the one on record is newer", launchertest.StopsWhenAsked, 2, 3, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, j := prepare(t), job(c.behaviour)
			gateway := r.earlier(nil, j)
			r.twin(j, c.other)
			gateway.kill()
			r.open(nil)
			r.expectListed(c.kept)
			j.Generation = c.kept
			r.launch(j)
			if e := r.exit(); e.ID != j.ID || e.Generation != c.ended {
				t.Errorf("ended has %+v, want generation %d", e, c.ended)
			}
			if got := r.alive(j.ID); !slices.Equal(got, []int{c.kept}) {
				t.Errorf("generations %v run, want %d", got, c.kept)
			}
			r.expectListed(c.kept)
		})
	}
}

// A worker that cannot report to this gateway is ended, soon, and told of.
func TestWorkersThatReportElsewhere(t *testing.T) {
	for name, change := range map[string]func(*past){
		"to another address": func(p *past) { p.GatewayURL = "http://127.0.0.1:9091" },
		"by another key":     func(p *past) { p.Key = "rotated" },
	} {
		t.Run(name, func(t *testing.T) {
			r, j := prepare(t), job(grumpy)
			r.earlier(change, j).kill()
			r.open(nil)
			r.expectListed()
			r.launch(j) // waits for it
			if e := r.exit(); e.ID != j.ID || e.Generation != j.Generation {
				t.Errorf("got %+v", e)
			}
			r.eventually("the new worker", func() bool { return len(r.alive(j.ID)) == 1 })
			r.expectListed(j.Generation)
		})
	}
}

func TestAStoppedProcessCanBeEnded(t *testing.T) {
	for _, outlived := range []bool{false, true} {
		t.Run(fmt.Sprintf("adopted is %v", outlived), func(t *testing.T) {
			r, j := prepare(t), job(launchertest.StopsWhenAsked)
			patient := func(c *process.Config) { c.GracePeriod = time.Hour }
			if outlived {
				r.earlier(nil, j).kill()
			}
			r.open(patient)
			r.launch(j)
			r.eventually("the worker", func() bool { return len(r.alive(j.ID)) == 1 })
			r.signal(j.ID, syscall.SIGSTOP)
			worker := r.pid(j.ID)
			r.eventually("its sleep", func() bool { return state(worker) == "T" })
			if err := r.launcher.Stop(t.Context(), j.ID); err != nil {
				t.Error(err)
			}
			if e := r.exit(); strings.Contains(e.Detail, "SIGKILL") {
				t.Errorf("it was killed: %+v", e)
			}
		})
	}
}
