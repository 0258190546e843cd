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

// Behaviour is how a worker of a harness acts. Its value is a video id.
type Behaviour string

// The behaviours a harness has to know.
const (
	StopsWhenAsked Behaviour = "obedient---" // works until it is asked to stop, then ends cleanly
	IgnoresStop    Behaviour = "stubborn---" // works on when it is asked to stop
	ExitsWithError Behaviour = "crashing---" // ends at once, with an error
	ExitsCleanly   Behaviour = "finishing--" // ends at once, cleanly
)

// BehaviourOf tells a worker what to do.
func BehaviourOf(u monitor.StreamURL) Behaviour { return Behaviour(u.VideoID()) }

// Harness is a launcher under test with what can be seen from outside.
type Harness struct {
	Launcher supervisor.Launcher

	// Close closes the launcher. The suite always calls it, sometimes twice.
	Close func(ctx context.Context) error

	// Alive lists the generations of a monitor's workers that are running and
	// have come far enough to act as they should. A Crashing or Finishing worker
	// need not show.
	Alive func(id monitor.ID) []int

	// Kill ends a monitor's worker behind the launcher's back, and does not wait
	// for it. Only RunOutlived needs it.
	Kill func(id monitor.ID)

	// Leaves says that closing the launcher leaves its workers running, as pods
	// are left. Whoever makes the harness ends them with the test.
	KeepsWorkers bool

	// Grace is what the launcher gives a worker that was asked to stop, at least
	// 200 ms: short, so that tests are, and long enough to see that it is given.
	GracePeriod time.Duration

	// Patience is how long anything may take, beyond Grace. Default 10 s.
	Timeout time.Duration
}

// fixture is a harness in one test.
type fixture struct {
	Harness
	jobs

	t *testing.T
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

// jobs counts the monitors of a test.
type jobs int

// job makes a job of a new monitor.
func (n *jobs) job(b Behaviour) supervisor.WorkerSpec {
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

func later(j supervisor.WorkerSpec, generation int) supervisor.WorkerSpec {
	j.Generation = generation
	return j
}

func (f *fixture) launch(j supervisor.WorkerSpec) {
	f.t.Helper()
	if err := f.Launcher.Launch(f.t.Context(), j); err != nil {
		f.t.Fatalf("launch: %v", err)
	}
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

// expectListed checks that the launcher lists exactly the workers of these jobs.
func (f *fixture) expectListed(of ...supervisor.WorkerSpec) {
	f.t.Helper()
	got, err := f.Launcher.Workers(f.t.Context())
	if err != nil {
		f.t.Fatalf("workers: %v", err)
	}
	var want []supervisor.Worker
	for _, j := range of {
		want = append(want, supervisor.Worker{ID: j.ID, Generation: j.Generation})
	}
	for i, w := range got { // how far one has come is no matter of who is there
		got[i] = supervisor.Worker{ID: w.ID, Generation: w.Generation}
	}
	for _, workers := range [][]supervisor.Worker{got, want} {
		slices.SortFunc(workers, func(a, b supervisor.Worker) int { return strings.Compare(string(a.ID), string(b.ID)) })
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("listed are %v, want %v", got, want)
	}
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

// expectExit waits for the next exit and checks whose it is.
func (f *fixture) expectExit(j supervisor.WorkerSpec, clean bool) {
	f.t.Helper()
	e := f.exit()
	if e.ID != j.ID || e.Generation != j.Generation || e.Clean != clean {
		f.t.Errorf("exit %+v, want generation %d of %s, clean %v", e, j.Generation, j.ID, clean)
	}
	if e.Detail == "" {
		f.t.Error("the exit has no detail")
	}
}

// expectNoExit checks that no exit is left to come. Exits come in the order of
// the ends, so one more worker ends, and its exit has to be the next.
func (f *fixture) expectNoExit() {
	f.t.Helper()
	last := f.job(StopsWhenAsked)
	f.launch(last)
	f.expectAlive(last.ID, 1)
	f.stop(last.ID)
	if e := f.exit(); e.ID != last.ID {
		f.t.Errorf("unexpected exit %+v", e)
	}
}
