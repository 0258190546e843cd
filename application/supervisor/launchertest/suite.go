package launchertest

import "testing"

// Run puts a launcher through the suite, a new harness for each test.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	for _, c := range []struct {
		name string
		test func(f *fixture)
	}{
		{"its place is a name and does not change", placed},
		{"a launched worker runs", launched},
		{"the workers that run are listed, and no others", listed},
		{"launching what runs already does nothing", idempotent},
		{"launching the same job from many sides starts one worker", concurrent},
		{"a newer generation replaces the older", replaced},
		{"a newer generation replaces even a stubborn older one, soon", replacedByForce},
		{"an older generation than the running one is refused", outdated},
		{"a worker that crashes is noticed", crashed},
		{"a worker that ends cleanly is noticed", finished},
		{"no exit is lost while nobody reads", unread},
		{"a worker that is stopped is gone when Stop returns", stopped},
		{"a worker that does not stop is ended by force after its grace", forced},
		{"stopping what does not run does nothing", stoppedUnknown},
		{"stopping twice at once ends it once", stoppedTwice},
		{"a stop that is not waited for is carried out", stoppedUnattended},
		{"stopping one worker leaves the others alone", stoppedAlone},
		{"a stopped monitor can be launched again", relaunched},
		{"closing ends all workers at once, or leaves them, and closes the exits", closed},
		{"closing does not wait for a stubborn worker when it may not", closedByForce},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(start(t, newHarness(t))) })
	}
}
