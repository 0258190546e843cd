package launchertest

import (
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// handover is what an older generation gets at most (supervisor.Launcher).
const handover = 5 * time.Second

func placed(f *fixture) {
	p := f.Launcher.Runtime()
	if len(p.ID) < 1 || len(p.ID) > 63 {
		f.t.Errorf("its id %q has %d characters, want 1 to 63", p.ID, len(p.ID))
	}
	if p.NotFoundMessage == "" {
		f.t.Error("nothing is said of a worker that is not there")
	}
	j := f.job(StopsWhenAsked)
	f.launch(j)
	f.stop(j.ID)
	if later := f.Launcher.Runtime(); later != p {
		f.t.Errorf("it was %+v and is %+v", p, later)
	}
}

func listed(f *fixture) {
	f.expectListed()
	a, b, done := f.job(StopsWhenAsked), f.job(IgnoresStop), f.job(ExitsCleanly)
	f.launch(a)
	f.launch(b)
	f.expectListed(a, b)
	f.expectAlive(a.ID, 1)
	f.launch(done)
	f.expectExit(done, true)
	f.expectListed(a, b)
	f.launch(later(a, 2))
	f.expectExit(a, true)
	f.expectListed(later(a, 2), b)
	f.stop(a.ID)
	f.expectListed(b)
}

func launched(f *fixture) {
	a, b := f.job(StopsWhenAsked), f.job(StopsWhenAsked)
	f.launch(a)
	f.launch(b)
	f.expectAlive(a.ID, 1)
	f.expectAlive(b.ID, 1)
	f.expectNoExit()
}

func idempotent(f *fixture) {
	j := f.job(StopsWhenAsked)
	for range 3 {
		f.launch(j)
	}
	f.expectAlive(j.ID, 1)
	f.expectNoExit()
}

func concurrent(f *fixture) {
	j := f.job(StopsWhenAsked)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if err := f.Launcher.Launch(f.t.Context(), j); err != nil {
				f.t.Errorf("launch: %v", err)
			}
		})
	}
	all.Wait()
	f.expectAlive(j.ID, 1)
	f.expectNoExit()
}

func replaced(f *fixture) {
	j := f.job(StopsWhenAsked)
	f.launch(j)
	f.expectAlive(j.ID, 1)
	f.launch(later(j, 2))
	f.expectExit(j, true)
	f.expectAlive(j.ID, 2)
}

func replacedByForce(f *fixture) {
	j := f.job(IgnoresStop)
	f.launch(j)
	f.expectAlive(j.ID, 1)
	f.replace(j, 2)
	f.expectExit(j, false)
	f.expectAlive(j.ID, 2)
}

// replace launches a newer generation and sees that it does not take long,
// whatever the older does.
func (f *fixture) replace(older supervisor.WorkerSpec, generation int) {
	f.t.Helper()
	began := time.Now()
	f.launch(later(older, generation))
	if took, limit := time.Since(began), min(handover, f.GracePeriod)+f.Timeout; took > limit {
		f.t.Errorf("the older generation was replaced after %v, want at most %v", took, limit)
	}
}

func outdated(f *fixture) {
	j := later(f.job(StopsWhenAsked), 5)
	f.launch(j)
	f.expectAlive(j.ID, 5)
	if err := f.Launcher.Launch(f.t.Context(), later(j, 4)); err == nil {
		f.t.Error("an older generation was launched")
	}
	f.expectAlive(j.ID, 5)
	f.expectNoExit()
}

func crashed(f *fixture) {
	j := f.job(ExitsWithError)
	f.launch(j)
	f.expectExit(j, false)
	f.expectAlive(j.ID)
}

func finished(f *fixture) {
	j := f.job(ExitsCleanly)
	f.launch(j)
	f.expectExit(j, true)
	f.expectAlive(j.ID)
}

func unread(f *fixture) {
	const many = 20
	want := map[monitor.ID]bool{}
	for range many {
		j := f.job(ExitsCleanly)
		want[j.ID] = true
		f.launch(j)
	}
	// A worker that is stopped afterwards shows that the launcher goes on.
	last := f.job(StopsWhenAsked)
	f.launch(last)
	f.expectAlive(last.ID, 1)
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
