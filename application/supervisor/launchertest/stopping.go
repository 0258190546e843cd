package launchertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// stop stops a worker and returns how long that took.
func (f *fixture) stop(id monitor.ID) time.Duration {
	f.t.Helper()
	began := time.Now()
	if err := f.Launcher.Stop(f.t.Context(), id); err != nil {
		f.t.Errorf("stop: %v", err)
	}
	return time.Since(began)
}

func stopEndsWorker(f *fixture, running []supervisor.WorkerSpec) {
	spec, other := running[0], running[1]
	f.stop(spec.ID)
	if left := f.Alive(spec.ID); len(left) > 0 {
		f.t.Errorf("Stop returned while %v ran", left)
	}
	f.expectExit(spec, true)
	f.expectListed(other)
	f.expectAlive(other.ID, other.Generation)
	f.stop(spec.ID)
	f.expectNoExit()
	next := withGeneration(spec, spec.Generation+1)
	f.launch(next)
	f.expectAlive(spec.ID, next.Generation)
}

func stopForcesAfterGracePeriod(f *fixture, running []supervisor.WorkerSpec) {
	spec := running[0]
	if took := f.stop(spec.ID); took < f.GracePeriod || took > f.GracePeriod+f.Timeout {
		f.t.Errorf("took %v, want the grace of %v and little more", took, f.GracePeriod)
	}
	if left := f.Alive(spec.ID); len(left) > 0 {
		f.t.Errorf("Stop returned while %v ran", left)
	}
	f.expectExit(spec, false)
}

func stopOfUnknownDoesNothing(f *fixture) {
	f.stop(f.newSpec(StopsWhenAsked).ID)
	done := f.newSpec(ExitsCleanly)
	f.launch(done)
	f.expectExit(done, true)
	f.stop(done.ID)
	f.expectNoExit()
}

func concurrentStopsEndOnce(f *fixture) {
	spec := f.running(StopsWhenAsked)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { f.stop(spec.ID) })
	}
	both.Wait()
	f.expectExit(spec, true)
	f.expectNoExit()
}

func abandonedStopIsCarriedOut(f *fixture) {
	spec := f.running(IgnoresStop)
	ctx, cancel := context.WithTimeout(f.t.Context(), f.GracePeriod/10)
	defer cancel()
	if err := f.Launcher.Stop(ctx, spec.ID); !errors.Is(err, context.DeadlineExceeded) {
		f.t.Errorf("got %v, want the context's error", err)
	}
	f.expectExit(spec, false)
	f.expectAlive(spec.ID)
}

func closeEndsRunning(f *fixture, running []supervisor.WorkerSpec) {
	ends := f.countExits()
	if err := f.Close(f.t.Context()); err != nil {
		f.t.Errorf("close: %v", err)
	}
	f.expectClosed(ends, running)
}

func closeEndsAll(f *fixture) {
	const stubborn = 10
	specs := []supervisor.WorkerSpec{f.running(StopsWhenAsked)}
	for range stubborn {
		specs = append(specs, f.running(IgnoresStop))
	}
	ends := f.countExits()
	began := time.Now()
	if err := f.Close(f.t.Context()); err != nil {
		f.t.Errorf("close: %v", err)
	}
	if took := time.Since(began); took > stubborn/2*f.GracePeriod {
		f.t.Errorf("closing took %v: not all at once", took)
	}
	f.expectClosed(ends, specs)
	if f.Launcher.Launch(f.t.Context(), f.newSpec(StopsWhenAsked)) == nil {
		f.t.Error("a closed launcher launched a worker")
	}
}

func closeForcesWhenContextIsDone(f *fixture, running []supervisor.WorkerSpec) {
	spec := running[0]
	ctx, cancel := context.WithCancel(f.t.Context())
	cancel()
	began := time.Now()
	err := f.Close(ctx)
	if took := time.Since(began); took > f.Timeout {
		f.t.Errorf("closing took %v", took)
	}
	if f.KeepsWorkers {
		f.expectAlive(spec.ID, spec.Generation)
		return
	}
	if !errors.Is(err, context.Canceled) {
		f.t.Errorf("got %v, want the context's error", err)
	}
	f.expectAlive(spec.ID)
}

// countExits reads the exits until they are closed, and then sends how many came.
func (f *fixture) countExits() <-chan int {
	counted := make(chan int, 1)
	go func() {
		n := 0
		for range f.Launcher.Exits() {
			n++
		}
		counted <- n
	}()
	return counted
}

// expectClosed checks that a closed launcher has ended all these workers and reported
// it, or kept them all.
func (f *fixture) expectClosed(ends <-chan int, specs []supervisor.WorkerSpec) {
	f.t.Helper()
	want := len(specs)
	if f.KeepsWorkers {
		want = 0
	}
	if n := <-ends; n != want {
		f.t.Errorf("%d exits came, want %d", n, want)
	}
	for _, spec := range specs {
		if f.KeepsWorkers {
			f.expectAlive(spec.ID, spec.Generation)
		} else {
			f.expectAlive(spec.ID)
		}
	}
}
