package launchertest

import (
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// replacementGracePeriod is the longest grace period of a replaced worker (supervisor.Launcher).
const replacementGracePeriod = 5 * time.Second

func runtimeIsConstant(f *fixture) {
	p := f.Launcher.Runtime()
	if len(p.ID) < 1 || len(p.ID) > 63 {
		f.t.Errorf("its id %q has %d characters, want 1 to 63", p.ID, len(p.ID))
	}
	if p.NotFoundMessage == "" {
		f.t.Error("nothing is said of a worker that is not there")
	}
	spec := f.newSpec(StopsWhenAsked)
	f.launch(spec)
	f.stop(spec.ID)
	if later := f.Launcher.Runtime(); later != p {
		f.t.Errorf("it was %+v and is %+v", p, later)
	}
}

func workersAreListed(f *fixture) {
	f.expectListed()
	a, b, done := f.newSpec(StopsWhenAsked), f.newSpec(IgnoresStop), f.newSpec(ExitsCleanly)
	f.launch(a)
	f.launch(b)
	f.expectListed(a, b)
	f.expectAlive(a.ID, 1)
	f.launch(done)
	f.expectExit(done, true)
	f.expectListed(a, b)
	f.launch(withGeneration(a, 2))
	f.expectExit(a, true)
	f.expectListed(withGeneration(a, 2), b)
	for generation, want := range map[int]bool{1: true, 2: true, 3: false} {
		f.expectRuns(withGeneration(a, generation), want)
	}
	f.stop(a.ID)
	f.expectListed(b)
	f.expectRuns(a, false)
}

// expectRuns checks the launcher's answer whether a worker of at least this generation runs.
func (f *fixture) expectRuns(spec supervisor.WorkerSpec, want bool) {
	f.t.Helper()
	if runs, err := f.Launcher.Runs(f.t.Context(), spec.ID, spec.Generation); err != nil || runs != want {
		f.t.Errorf("Runs(%d) = %v, %v, want %v", spec.Generation, runs, err, want)
	}
}

func runningAreListed(f *fixture, running []supervisor.WorkerSpec) {
	f.expectListed(running...)
	for _, spec := range running {
		f.expectAlive(spec.ID, spec.Generation)
	}
	f.expectNoExit()
	f.expectListed(running...)
}

func launchIsIdempotent(f *fixture, running []supervisor.WorkerSpec) {
	spec := running[0]
	for range 3 {
		f.launch(spec)
	}
	f.expectAlive(spec.ID, spec.Generation)
	f.expectNoExit()
	f.expectListed(spec)
}

func concurrentLaunchesStartOne(f *fixture) {
	spec := f.newSpec(StopsWhenAsked)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if err := f.Launcher.Launch(f.t.Context(), spec); err != nil {
				f.t.Errorf("launch: %v", err)
			}
		})
	}
	all.Wait()
	f.expectAlive(spec.ID, 1)
	f.expectNoExit()
}

// newerGenerationReplaces launches a newer generation and sees that it does not take long,
// whatever the older does.
func newerGenerationReplaces(f *fixture, running []supervisor.WorkerSpec) {
	older := running[0]
	newer := withGeneration(older, older.Generation+1)
	began := time.Now()
	f.launch(newer)
	if took, limit := time.Since(began), min(replacementGracePeriod, f.GracePeriod)+f.Timeout; took > limit {
		f.t.Errorf("the older generation was replaced after %v, want at most %v", took, limit)
	}
	f.expectExit(older, BehaviourOf(older.StreamURL) == StopsWhenAsked)
	f.expectAlive(older.ID, newer.Generation)
	f.expectListed(newer)
}

func olderGenerationIsRefused(f *fixture, running []supervisor.WorkerSpec) {
	spec := running[0]
	if err := f.Launcher.Launch(f.t.Context(), withGeneration(spec, spec.Generation-1)); err == nil {
		f.t.Error("an older generation was launched")
	}
	f.expectAlive(spec.ID, spec.Generation)
	f.expectNoExit()
}

func endIsReported(f *fixture, running []supervisor.WorkerSpec) {
	spec, other := running[0], running[1]
	f.Kill(spec.ID)
	f.expectExit(spec, false)
	f.expectListed(other)
	f.expectAlive(spec.ID)
	next := withGeneration(spec, spec.Generation+1)
	f.launch(next)
	f.expectAlive(spec.ID, next.Generation)
	f.expectListed(next, other)
	f.expectNoExit()
}

func crashIsReported(f *fixture) {
	spec := f.newSpec(ExitsWithError)
	f.launch(spec)
	f.expectExit(spec, false)
	f.expectAlive(spec.ID)
}

func unreadExitsAreKept(f *fixture) {
	const many = 20
	want := map[monitor.ID]bool{}
	for range many {
		spec := f.newSpec(ExitsCleanly)
		want[spec.ID] = true
		f.launch(spec)
	}
	// A worker that is stopped afterwards shows that the launcher goes on.
	last := f.running(StopsWhenAsked)
	if err := f.Launcher.Stop(f.t.Context(), last.ID); err != nil {
		f.t.Fatalf("stop: %v", err)
	}
	want[last.ID] = true
	for range many + 1 {
		e := f.exit()
		if !want[e.ID] {
			f.t.Errorf("exit %+v came twice or of nobody", e)
		}
		delete(want, e.ID)
	}
	f.expectNoExit()
}
