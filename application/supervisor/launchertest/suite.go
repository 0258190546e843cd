package launchertest

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// Run tests a launcher, with a new harness for each test.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	for _, c := range withRunning {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, newHarness(t))
			var running []supervisor.WorkerSpec
			for _, b := range c.running {
				running = append(running, f.running(b))
			}
			c.test(f, running)
		})
	}
	for _, c := range []struct {
		name string
		test func(f *fixture)
	}{
		{"its runtime has an ID and does not change", runtimeIsConstant},
		{"the workers that run are listed, and no others", workersAreListed},
		{"launching one worker concurrently starts it once", concurrentLaunchesStartOne},
		{"a crash is reported", crashIsReported},
		{"no exit is lost while nobody reads", unreadExitsAreKept},
		{"stopping what does not run does nothing", stopOfUnknownDoesNothing},
		{"stopping twice at once ends it once", concurrentStopsEndOnce},
		{"a stop whose caller has gone is carried out", abandonedStopIsCarriedOut},
		{"Close ends all workers at once, or keeps them, and closes Exits", closeEndsAll},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(start(t, newHarness(t))) })
	}
}

// RunAdoption tests that a launcher adopts the workers of an earlier one. Launchers
// whose workers end with them do not run it.
//
// newHarness gets the workers that run already. An earlier launcher has launched them
// in the same runtime and has ended without a Close. Harness.Alive lists them. Then the
// harness makes its own launcher. Harness.Kill is required.
func RunAdoption(t *testing.T, newHarness func(t *testing.T, running []supervisor.WorkerSpec) Harness) {
	for _, c := range append(withRunning, onlyAdopted...) {
		t.Run(c.name, func(t *testing.T) {
			var n specs
			var running []supervisor.WorkerSpec
			for i, b := range c.running {
				running = append(running, withGeneration(n.newSpec(b), 3+i))
			}
			f := start(t, newHarness(t, running))
			f.specs, f.adopted = n, true
			c.test(f, running)
		})
	}
}

// withRunning are the tests that begin with workers that run: the launcher's own, or adopted.
var withRunning = []runningCase{
	{"they are listed and go on", []Behaviour{StopsWhenAsked, IgnoresStop}, runningAreListed},
	{"launching what runs already does nothing", []Behaviour{StopsWhenAsked}, launchIsIdempotent},
	{"a newer generation replaces the older", []Behaviour{StopsWhenAsked}, newerGenerationReplaces},
	{"a newer generation replaces within 5 s an older one that ignores its stop", []Behaviour{IgnoresStop}, newerGenerationReplaces},
	{"an older generation than the running one is refused", []Behaviour{StopsWhenAsked}, olderGenerationIsRefused},
	{"one that is stopped is gone when Stop returns, and can be launched again", []Behaviour{StopsWhenAsked, StopsWhenAsked}, stopEndsWorker},
	{"one that ignores its stop is ended by force after its grace period", []Behaviour{IgnoresStop}, stopForcesAfterGracePeriod},
	{"Close ends them, or keeps them", []Behaviour{StopsWhenAsked, IgnoresStop}, closeEndsRunning},
	{"Close forces them when its context is done", []Behaviour{IgnoresStop}, closeForcesWhenContextIsDone},
}

// onlyAdopted are the tests that need Harness.Kill.
var onlyAdopted = []runningCase{
	{"the end of one is reported", []Behaviour{StopsWhenAsked, StopsWhenAsked}, endIsReported},
}

// runningCase is a test that begins with workers that run.
type runningCase struct {
	name    string
	running []Behaviour
	test    func(f *fixture, running []supervisor.WorkerSpec)
}
