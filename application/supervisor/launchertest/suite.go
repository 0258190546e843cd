package launchertest

import "testing"

// Run tests a launcher, with a new harness for each test.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	for _, c := range []struct {
		name string
		test func(f *fixture)
	}{
		{"its runtime has an ID and does not change", runtimeIsConstant},
		{"a launched worker runs", launchStarts},
		{"the workers that run are listed, and no others", workersAreListed},
		{"launching what runs already does nothing", launchIsIdempotent},
		{"launching one worker concurrently starts it once", concurrentLaunchesStartOne},
		{"a newer generation replaces the older", newerGenerationReplaces},
		{"a newer generation replaces within 5 s an older one that ignores its stop", newerGenerationReplacesByForce},
		{"an older generation than the running one is refused", olderGenerationIsRefused},
		{"a crash is reported", crashIsReported},
		{"a clean exit is reported", cleanExitIsReported},
		{"no exit is lost while nobody reads", unreadExitsAreKept},
		{"a worker that is stopped is gone when Stop returns", stopEndsWorker},
		{"a worker that ignores its stop is ended by force after its grace period", stopForcesAfterGracePeriod},
		{"stopping what does not run does nothing", stopOfUnknownDoesNothing},
		{"stopping twice at once ends it once", concurrentStopsEndOnce},
		{"a stop whose caller has gone is carried out", abandonedStopIsCarriedOut},
		{"stopping one worker leaves the others alone", stopLeavesOthersRunning},
		{"a stopped monitor can be launched again", stoppedMonitorIsLaunchedAgain},
		{"Close ends all workers at once, or keeps them, and closes Exits", closeEndsAll},
		{"Close forces workers when its context is done", closeForcesWhenContextIsDone},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(start(t, newHarness(t))) })
	}
}
