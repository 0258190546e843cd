package launchertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Behaviour selects the actions of a worker of a harness. Its value is a video id.
type Behaviour string

// The behaviours that a harness must support.
const (
	StopsWhenAsked Behaviour = "obedient---" // runs until it is asked to stop, then exits cleanly
	IgnoresStop    Behaviour = "stubborn---" // goes on when it is asked to stop
	ExitsWithError Behaviour = "crashing---" // exits at once with an error
	ExitsCleanly   Behaviour = "finishing--" // exits at once cleanly
)

// BehaviourOf returns the behaviour that a stream URL asks for.
func BehaviourOf(u monitor.StreamURL) Behaviour { return Behaviour(u.ID()) }

// Harness is a launcher under test, with what can be seen of its workers without it.
type Harness struct {
	Launcher supervisor.Launcher

	// Close closes the launcher. The suite always calls it, sometimes twice.
	Close func(ctx context.Context) error

	// Alive lists the generations of a monitor's workers that run and are ready to
	// behave as asked. Workers that exit at once need not be listed.
	Alive func(id monitor.ID) []int

	// Kill ends a monitor's worker without the launcher, and does not wait for it.
	// Only RunAdoption needs it.
	Kill func(id monitor.ID)

	// KeepsWorkers says that Close leaves the workers running. The harness must end
	// them with the test.
	KeepsWorkers bool

	// GracePeriod is the launcher's, at least 200 ms: short for fast tests, and long
	// enough to be measured.
	GracePeriod time.Duration

	// Timeout bounds every wait, in addition to GracePeriod. Default 10 s.
	Timeout time.Duration
}

// fixture is a harness in one test.
type fixture struct {
	Harness
	specs

	t       *testing.T
	adopted bool // its workers are those of an earlier launcher
}

func start(t *testing.T, h Harness) *fixture {
	t.Helper()
	if h.Timeout == 0 {
		h.Timeout = 10 * time.Second
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), h.GracePeriod+h.Timeout)
		defer cancel()
		go func() {
			for range h.Launcher.Exits() { // ends with the launcher
			}
		}()
		if err := h.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &fixture{Harness: h, t: t}
}

// specs makes the workers of a test, each of another monitor.
type specs int

// newSpec makes a worker of a new monitor.
func (n *specs) newSpec(b Behaviour) supervisor.WorkerSpec {
	*n++
	uuid := [16]byte{0: byte(*n), 6: 0x70, 8: 0x80}
	return supervisor.WorkerSpec{
		ID:          monitor.NewID(uuid),
		Generation:  1,
		StreamURL:   monitor.StreamURL("https://www.youtube.com/watch?v=" + string(b)),
		CallbackURL: "https://receiver.example/hook",
		Config:      monitor.DefaultConfig(),
	}
}

func withGeneration(spec supervisor.WorkerSpec, generation int) supervisor.WorkerSpec {
	spec.Generation = generation
	return spec
}

func (f *fixture) launch(spec supervisor.WorkerSpec) {
	f.t.Helper()
	if err := f.Launcher.Launch(f.t.Context(), spec); err != nil {
		f.t.Fatalf("launch: %v", err)
	}
}

// running launches a worker of a new monitor, and waits until it runs.
func (f *fixture) running(b Behaviour) supervisor.WorkerSpec {
	f.t.Helper()
	spec := f.newSpec(b)
	f.launch(spec)
	f.expectAlive(spec.ID, spec.Generation)
	return spec
}

// expectAlive waits until exactly these generations of a monitor's worker run.
func (f *fixture) expectAlive(id monitor.ID, generations ...int) {
	f.t.Helper()
	var got []int
	f.eventually(fmt.Sprintf("workers %v of %s", generations, id), func() bool {
		got = f.Alive(id)
		slices.Sort(got)
		return slices.Equal(got, generations)
	}, func() string { return fmt.Sprintf("running are %v", got) })
}

func (f *fixture) eventually(what string, is func() bool, instead func() string) {
	f.t.Helper()
	for end := time.Now().Add(f.Timeout); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("waited %v for %s; %s", f.Timeout, what, instead())
		}
	}
}

// expectListed waits until the launcher lists exactly these workers.
func (f *fixture) expectListed(workers ...supervisor.WorkerSpec) {
	f.t.Helper()
	var want, got []supervisor.Worker
	for _, spec := range workers {
		want = append(want, supervisor.Worker{ID: spec.ID, Generation: spec.Generation})
	}
	sortByID := func(list []supervisor.Worker) {
		slices.SortFunc(list, func(a, b supervisor.Worker) int { return strings.Compare(string(a.ID), string(b.ID)) })
	}
	sortByID(want)
	f.eventually(fmt.Sprintf("the list %v", want), func() bool {
		all, err := f.Launcher.Workers(f.t.Context())
		if err != nil {
			f.t.Fatalf("workers: %v", err)
		}
		got = nil
		for _, w := range all { // whether one is pending does not matter here
			got = append(got, supervisor.Worker{ID: w.ID, Generation: w.Generation})
		}
		sortByID(got)
		return slices.Equal(got, want)
	}, func() string { return fmt.Sprintf("listed are %v", got) })
}

// exit waits for the next exit.
func (f *fixture) exit() supervisor.Exit {
	f.t.Helper()
	select {
	case e, open := <-f.Launcher.Exits():
		if !open {
			f.t.Fatal("exits are closed")
		}
		return e
	case <-time.After(f.Timeout + f.GracePeriod):
		f.t.Fatal("no exit came")
	}
	return supervisor.Exit{}
}

// expectExit waits for the next exit and checks whose it is. How a worker ended
// that another launcher started need not be known.
func (f *fixture) expectExit(spec supervisor.WorkerSpec, clean bool) {
	f.t.Helper()
	e := f.exit()
	if e.ID != spec.ID || e.Generation != spec.Generation || e.Clean != clean && !f.adopted {
		f.t.Errorf("exit %+v, want generation %d of %s, clean %v", e, spec.Generation, spec.ID, clean)
	}
	if e.Detail == "" {
		f.t.Error("the exit has no detail")
	}
}

// expectNoExit checks that no exit is left to come. Exits come in the order of
// the ends, so one more worker ends, and its exit has to be the next.
func (f *fixture) expectNoExit() {
	f.t.Helper()
	last := f.running(StopsWhenAsked)
	f.stop(last.ID)
	if e := f.exit(); e.ID != last.ID {
		f.t.Errorf("unexpected exit %+v", e)
	}
}
