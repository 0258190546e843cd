package launchertest

import (
	"context"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// RunOutlived puts a launcher whose workers may outlive it through what the
// next one owes them. Launchers whose workers end with them have no part in it.
//
// newHarness gets what its launcher finds: each job has been launched at its
// place by an earlier launcher, its worker has come as far as Harness.Alive
// asks, and then that launcher has gone without a word. Only then the harness's
// own is made. Harness.Kill is required.
func RunAdoption(t *testing.T, newHarness func(t *testing.T, running []supervisor.WorkerSpec) Harness) {
	for _, c := range []struct {
		name string
		ask  []Behaviour // of the workers that have outlived their launcher
		test func(f *fixture, running []supervisor.WorkerSpec)
	}{
		{"they are listed, run on, and have not ended", []Behaviour{StopsWhenAsked, IgnoresStop}, outlivedListed},
		{"launching what runs already does nothing", []Behaviour{StopsWhenAsked}, outlivedLaunched},
		{"a newer generation replaces one", []Behaviour{StopsWhenAsked}, outlivedReplaced},
		{"a newer generation replaces even a stubborn one, soon", []Behaviour{IgnoresStop}, outlivedReplaced},
		{"an older generation is refused", []Behaviour{StopsWhenAsked}, outlivedOutdated},
		{"one that is stopped is gone when Stop returns", []Behaviour{StopsWhenAsked, StopsWhenAsked}, outlivedStopped},
		{"one that does not stop is ended by force after its grace", []Behaviour{IgnoresStop}, outlivedForced},
		{"the end of one is noticed", []Behaviour{StopsWhenAsked, StopsWhenAsked}, outlivedEnded},
		{"one that has ended can be launched again", []Behaviour{StopsWhenAsked}, outlivedRelaunched},
		{"others are launched beside them", []Behaviour{StopsWhenAsked}, outlivedJoined},
		{"closing ends them, or leaves them", []Behaviour{StopsWhenAsked, IgnoresStop}, outlivedClosed},
		{"closing does not wait for a stubborn one when it may not", []Behaviour{IgnoresStop}, outlivedClosedByForce},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n jobs
			var running []supervisor.WorkerSpec
			for i, b := range c.ask {
				running = append(running, later(n.job(b), 3+i))
			}
			f := start(t, newHarness(t, running))
			f.jobs = n
			c.test(f, running)
		})
	}
}

func outlivedListed(f *fixture, running []supervisor.WorkerSpec) {
	f.expectListed(running...)
	for _, j := range running {
		f.expectAlive(j.ID, j.Generation)
	}
	f.expectNoExit()
	f.expectListed(running...)
}

func outlivedLaunched(f *fixture, running []supervisor.WorkerSpec) {
	j := running[0]
	for range 3 {
		f.launch(j)
	}
	f.expectAlive(j.ID, j.Generation)
	f.expectNoExit()
	f.expectListed(j)
}

func outlivedReplaced(f *fixture, running []supervisor.WorkerSpec) {
	j := running[0]
	f.replace(j, j.Generation+1)
	f.expectEnd(j)
	f.expectAlive(j.ID, j.Generation+1)
	f.expectListed(later(j, j.Generation+1))
}

func outlivedOutdated(f *fixture, running []supervisor.WorkerSpec) {
	j := running[0]
	if err := f.Launcher.Launch(f.t.Context(), later(j, j.Generation-1)); err == nil {
		f.t.Error("an older generation was launched")
	}
	f.expectAlive(j.ID, j.Generation)
	f.expectNoExit()
}

func outlivedStopped(f *fixture, running []supervisor.WorkerSpec) {
	j, other := running[0], running[1]
	f.stop(j.ID)
	if left := f.Alive(j.ID); len(left) > 0 {
		f.t.Errorf("Stop returned while %v ran", left)
	}
	f.expectEnd(j)
	f.expectListed(other)
	f.expectAlive(other.ID, other.Generation)
	f.stop(j.ID)
	f.expectNoExit()
}

func outlivedForced(f *fixture, running []supervisor.WorkerSpec) {
	j := running[0]
	if took := f.stop(j.ID); took < f.GracePeriod || took > f.GracePeriod+f.Timeout {
		f.t.Errorf("took %v, want the grace of %v and little more", took, f.GracePeriod)
	}
	if left := f.Alive(j.ID); len(left) > 0 {
		f.t.Errorf("Stop returned while %v ran", left)
	}
	f.expectEnd(j)
}

func outlivedEnded(f *fixture, running []supervisor.WorkerSpec) {
	j, other := running[0], running[1]
	f.Kill(j.ID)
	f.expectEnd(j)
	f.expectListed(other)
	f.expectAlive(j.ID)
	f.expectAlive(other.ID, other.Generation)
	f.expectNoExit()
}

func outlivedRelaunched(f *fixture, running []supervisor.WorkerSpec) {
	j := running[0]
	f.Kill(j.ID)
	f.expectEnd(j)
	next := later(j, j.Generation+1)
	f.launch(next)
	f.expectAlive(j.ID, next.Generation)
	f.expectListed(next)
}

func outlivedJoined(f *fixture, running []supervisor.WorkerSpec) {
	j := f.job(StopsWhenAsked)
	f.launch(j)
	f.expectAlive(j.ID, 1)
	f.expectListed(j, running[0])
	f.stop(j.ID)
	f.expectExit(j, true)
	f.expectAlive(running[0].ID, running[0].Generation)
	f.expectNoExit()
}

func outlivedClosed(f *fixture, running []supervisor.WorkerSpec) {
	ends := f.countExits()
	if err := f.Close(f.t.Context()); err != nil {
		f.t.Errorf("close: %v", err)
	}
	f.expectClosed(ends, running)
}

func outlivedClosedByForce(f *fixture, running []supervisor.WorkerSpec) {
	ctx, cancel := context.WithCancel(f.t.Context())
	cancel()
	began := time.Now()
	err := f.Close(ctx)
	if took := time.Since(began); took > f.Timeout {
		f.t.Errorf("closing took %v", took)
	}
	if f.KeepsWorkers {
		f.expectAlive(running[0].ID, running[0].Generation)
		return
	}
	if err == nil {
		f.t.Error("no error, though a worker had to be killed")
	}
	f.expectAlive(running[0].ID)
}

// expectEnd waits for the next exit and checks whose it is. How a worker ended
// that another launcher started need not be known.
func (f *fixture) expectEnd(j supervisor.WorkerSpec) {
	f.t.Helper()
	e := f.exit()
	if e.ID != j.ID || e.Generation != j.Generation {
		f.t.Errorf("exit %+v, want generation %d of %s", e, j.Generation, j.ID)
	}
	if e.Detail == "" {
		f.t.Error("the exit has no detail")
	}
}
