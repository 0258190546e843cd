package launchertest

import (
	"context"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// RunAdoption tests that a launcher adopts the workers of an earlier one. Launchers
// whose workers end with them do not run it.
//
// newHarness gets the workers that run already. An earlier launcher has launched them
// in the same runtime and has ended without a Close. Harness.Alive lists them. Then the harness makes its own launcher.
// Harness.Kill is required.
func RunAdoption(t *testing.T, newHarness func(t *testing.T, running []supervisor.WorkerSpec) Harness) {
	for _, c := range []struct {
		name string
		ask  []Behaviour // of the workers that run already
		test func(f *fixture, running []supervisor.WorkerSpec)
	}{
		{"they are listed and go on", []Behaviour{StopsWhenAsked, IgnoresStop}, adoptedAreListed},
		{"launching what runs already does nothing", []Behaviour{StopsWhenAsked}, adoptedAreNotLaunchedAgain},
		{"a newer generation replaces one", []Behaviour{StopsWhenAsked}, adoptedIsReplaced},
		{"a newer generation replaces within 5 s one that ignores its stop", []Behaviour{IgnoresStop}, adoptedIsReplaced},
		{"an older generation is refused", []Behaviour{StopsWhenAsked}, olderThanAdoptedIsRefused},
		{"one that is stopped is gone when Stop returns", []Behaviour{StopsWhenAsked, StopsWhenAsked}, adoptedIsStopped},
		{"one that ignores its stop is ended by force after its grace period", []Behaviour{IgnoresStop}, adoptedIsForced},
		{"the end of one is reported", []Behaviour{StopsWhenAsked, StopsWhenAsked}, endOfAdoptedIsReported},
		{"one that has ended can be launched again", []Behaviour{StopsWhenAsked}, endedAdoptedIsLaunchedAgain},
		{"others are launched beside them", []Behaviour{StopsWhenAsked}, othersAreLaunchedBesideAdopted},
		{"Close ends them, or keeps them", []Behaviour{StopsWhenAsked, IgnoresStop}, closeEndsAdopted},
		{"Close forces them when its context is done", []Behaviour{IgnoresStop}, closeForcesAdopted},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n specs
			var running []supervisor.WorkerSpec
			for i, b := range c.ask {
				running = append(running, withGeneration(n.newSpec(b), 3+i))
			}
			f := start(t, newHarness(t, running))
			f.specs = n
			c.test(f, running)
		})
	}
}

func adoptedAreListed(f *fixture, running []supervisor.WorkerSpec) {
	f.expectListed(running...)
	for _, spec := range running {
		f.expectAlive(spec.ID, spec.Generation)
	}
	f.expectNoExit()
	f.expectListed(running...)
}

func adoptedAreNotLaunchedAgain(f *fixture, running []supervisor.WorkerSpec) {
	spec := running[0]
	for range 3 {
		f.launch(spec)
	}
	f.expectAlive(spec.ID, spec.Generation)
	f.expectNoExit()
	f.expectListed(spec)
}

func adoptedIsReplaced(f *fixture, running []supervisor.WorkerSpec) {
	spec := running[0]
	f.replace(spec, spec.Generation+1)
	f.expectEnd(spec)
	f.expectAlive(spec.ID, spec.Generation+1)
	f.expectListed(withGeneration(spec, spec.Generation+1))
}

func olderThanAdoptedIsRefused(f *fixture, running []supervisor.WorkerSpec) {
	spec := running[0]
	if err := f.Launcher.Launch(f.t.Context(), withGeneration(spec, spec.Generation-1)); err == nil {
		f.t.Error("an older generation was launched")
	}
	f.expectAlive(spec.ID, spec.Generation)
	f.expectNoExit()
}

func adoptedIsStopped(f *fixture, running []supervisor.WorkerSpec) {
	spec, other := running[0], running[1]
	f.stop(spec.ID)
	if left := f.Alive(spec.ID); len(left) > 0 {
		f.t.Errorf("Stop returned while %v ran", left)
	}
	f.expectEnd(spec)
	f.expectListed(other)
	f.expectAlive(other.ID, other.Generation)
	f.stop(spec.ID)
	f.expectNoExit()
}

func adoptedIsForced(f *fixture, running []supervisor.WorkerSpec) {
	spec := running[0]
	if took := f.stop(spec.ID); took < f.GracePeriod || took > f.GracePeriod+f.Timeout {
		f.t.Errorf("took %v, want the grace of %v and little more", took, f.GracePeriod)
	}
	if left := f.Alive(spec.ID); len(left) > 0 {
		f.t.Errorf("Stop returned while %v ran", left)
	}
	f.expectEnd(spec)
}

func endOfAdoptedIsReported(f *fixture, running []supervisor.WorkerSpec) {
	spec, other := running[0], running[1]
	f.Kill(spec.ID)
	f.expectEnd(spec)
	f.expectListed(other)
	f.expectAlive(spec.ID)
	f.expectAlive(other.ID, other.Generation)
	f.expectNoExit()
}

func endedAdoptedIsLaunchedAgain(f *fixture, running []supervisor.WorkerSpec) {
	spec := running[0]
	f.Kill(spec.ID)
	f.expectEnd(spec)
	next := withGeneration(spec, spec.Generation+1)
	f.launch(next)
	f.expectAlive(spec.ID, next.Generation)
	f.expectListed(next)
}

func othersAreLaunchedBesideAdopted(f *fixture, running []supervisor.WorkerSpec) {
	spec := f.newSpec(StopsWhenAsked)
	f.launch(spec)
	f.expectAlive(spec.ID, 1)
	f.expectListed(spec, running[0])
	f.stop(spec.ID)
	f.expectExit(spec, true)
	f.expectAlive(running[0].ID, running[0].Generation)
	f.expectNoExit()
}

func closeEndsAdopted(f *fixture, running []supervisor.WorkerSpec) {
	ends := f.countExits()
	if err := f.Close(f.t.Context()); err != nil {
		f.t.Errorf("close: %v", err)
	}
	f.expectClosed(ends, running)
}

func closeForcesAdopted(f *fixture, running []supervisor.WorkerSpec) {
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
func (f *fixture) expectEnd(spec supervisor.WorkerSpec) {
	f.t.Helper()
	e := f.exit()
	if e.ID != spec.ID || e.Generation != spec.Generation {
		f.t.Errorf("exit %+v, want generation %d of %s", e, spec.Generation, spec.ID)
	}
	if e.Detail == "" {
		f.t.Error("the exit has no detail")
	}
}
