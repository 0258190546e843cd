package launchertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// stop stops and returns how long it took.
func (f *fixture) stop(id monitor.ID) time.Duration {
	f.t.Helper()
	began := time.Now()
	if err := f.Launcher.Stop(f.t.Context(), id); err != nil {
		f.t.Errorf("stop: %v", err)
	}
	return time.Since(began)
}

func stopped(f *fixture) {
	j := f.job(StopsWhenAsked)
	f.launch(j)
	f.expectAlive(j.ID, 1)
	f.stop(j.ID)
	if left := f.Alive(j.ID); len(left) > 0 {
		f.t.Errorf("Stop returned while %v ran", left)
	}
	f.expectExit(j, true)
}

func forced(f *fixture) {
	j := f.job(IgnoresStop)
	f.launch(j)
	f.expectAlive(j.ID, 1)
	if took := f.stop(j.ID); took < f.GracePeriod || took > f.GracePeriod+f.Timeout {
		f.t.Errorf("took %v, want the grace of %v and little more", took, f.GracePeriod)
	}
	if left := f.Alive(j.ID); len(left) > 0 {
		f.t.Errorf("Stop returned while %v ran", left)
	}
	f.expectExit(j, false)
}

func stoppedUnknown(f *fixture) {
	f.stop(f.job(StopsWhenAsked).ID)
	done := f.job(ExitsCleanly)
	f.launch(done)
	f.expectExit(done, true)
	f.stop(done.ID)
	f.expectNoExit()
}

func stoppedTwice(f *fixture) {
	j := f.job(StopsWhenAsked)
	f.launch(j)
	f.expectAlive(j.ID, 1)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { f.stop(j.ID) })
	}
	both.Wait()
	f.expectExit(j, true)
	f.expectNoExit()
}

func stoppedUnattended(f *fixture) {
	j := f.job(IgnoresStop)
	f.launch(j)
	f.expectAlive(j.ID, 1)
	ctx, cancel := context.WithTimeout(f.t.Context(), f.GracePeriod/10)
	defer cancel()
	if err := f.Launcher.Stop(ctx, j.ID); !errors.Is(err, context.DeadlineExceeded) {
		f.t.Errorf("got %v, want the context's error", err)
	}
	f.expectExit(j, false)
	f.expectAlive(j.ID)
}

func stoppedAlone(f *fixture) {
	a, b := f.job(StopsWhenAsked), f.job(StopsWhenAsked)
	f.launch(a)
	f.launch(b)
	f.expectAlive(a.ID, 1)
	f.expectAlive(b.ID, 1)
	f.stop(a.ID)
	f.expectExit(a, true)
	f.expectAlive(b.ID, 1)
	f.expectNoExit()
}

func relaunched(f *fixture) {
	j := f.job(StopsWhenAsked)
	f.launch(j)
	f.expectAlive(j.ID, 1)
	f.stop(j.ID)
	f.expectExit(j, true)
	f.launch(later(j, 2))
	f.expectAlive(j.ID, 2)
}

func closed(f *fixture) {
	const stubborn = 10
	jobs := []supervisor.WorkerSpec{f.job(StopsWhenAsked)}
	for range stubborn {
		jobs = append(jobs, f.job(IgnoresStop))
	}
	for _, j := range jobs {
		f.launch(j)
		f.expectAlive(j.ID, 1)
	}
	ends := f.countExits()
	began := time.Now()
	if err := f.Close(f.t.Context()); err != nil {
		f.t.Errorf("close: %v", err)
	}
	if took := time.Since(began); took > stubborn/2*f.GracePeriod {
		f.t.Errorf("closing took %v: not all at once", took)
	}
	f.expectClosed(ends, jobs)
	if f.Launcher.Launch(f.t.Context(), f.job(StopsWhenAsked)) == nil {
		f.t.Error("a closed launcher launched a worker")
	}
}

func closedByForce(f *fixture) {
	j := f.job(IgnoresStop)
	f.launch(j)
	f.expectAlive(j.ID, 1)
	ctx, cancel := context.WithCancel(f.t.Context())
	cancel()
	began := time.Now()
	err := f.Close(ctx)
	if took := time.Since(began); took > f.Timeout {
		f.t.Errorf("closing took %v", took)
	}
	if f.KeepsWorkers {
		f.expectAlive(j.ID, 1)
		return
	}
	if !errors.Is(err, context.Canceled) {
		f.t.Errorf("got %v, want the context's error", err)
	}
	f.expectAlive(j.ID)
}

// countExits reads the exits until they are closed, and tells how many came.
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

// expectClosed checks what a launcher that is closed has done with the workers
// of these jobs: ended all and told so, or left all alone.
func (f *fixture) expectClosed(ends <-chan int, jobs []supervisor.WorkerSpec) {
	f.t.Helper()
	want := len(jobs)
	if f.KeepsWorkers {
		want = 0
	}
	if n := <-ends; n != want {
		f.t.Errorf("%d exits came, want %d", n, want)
	}
	for _, j := range jobs {
		if f.KeepsWorkers {
			f.expectAlive(j.ID, j.Generation)
		} else {
			f.expectAlive(j.ID)
		}
	}
}
