package supervisor

import "testing"

// Section 10.4, decisions O3 and O5.
func TestEveryObservationHasItsVerdict(t *testing.T) {
	const other = 3 // another generation than the newest, which is 4
	for _, c := range []struct {
		observation
		want verdict
	}{
		// Launched here, in a runtime of its own: its worker runs.
		{observation{running: 4, launchedHere: true, owned: true}, nothingToDo},
		{observation{running: 4, launchedHere: true}, adopt},
		{observation{running: 4, launchedHere: true, leader: true}, adopt},
		// Its worker does not run.
		{observation{launchedHere: true}, missing},
		{observation{launchedHere: true, leader: true}, missing},
		{observation{launchedHere: true, owned: true}, nothingToDo}, // it is being launched, or its exit will be reported
		{observation{launchedHere: true, running: other}, missing},
		{observation{launchedHere: true, running: other, owned: true}, nothingToDo},
		{observation{launchedHere: true, running: 5}, missing}, // a database that was restored
		{observation{launchedHere: true, leaseExpired: true, leader: true}, missing},

		// Launched here, in a shared runtime.
		{observation{running: 4, launchedHere: true, shared: true}, nothingToDo}, // one of them looks after it
		{observation{running: 4, launchedHere: true, shared: true, leader: true}, adopt},
		{observation{running: 4, launchedHere: true, shared: true, leader: true, owned: true}, nothingToDo},
		{observation{launchedHere: true, shared: true, leader: true, reported: true}, nothingToDo}, // it may be being launched
		{observation{launchedHere: true, shared: true, leader: true, reported: true, absentBefore: true}, missing},
		{observation{launchedHere: true, shared: true, leader: true, reported: true, absentBefore: true, owned: true}, nothingToDo},
		{observation{launchedHere: true, shared: true, reported: true, absentBefore: true}, nothingToDo},
		{observation{launchedHere: true, shared: true, leader: true, absentBefore: true}, nothingToDo}, // it is being launched
		{observation{launchedHere: true, shared: true, leader: true, absentBefore: true, leaseExpired: true}, missing},
		{observation{launchedHere: true, shared: true, leader: true, running: other, reported: true, absentBefore: true}, missing},

		// Workers cannot be listed.
		{observation{launchedHere: true, shared: true, leader: true, blind: true, reported: true, absentBefore: true}, nothingToDo},
		{observation{launchedHere: true, shared: true, leader: true, blind: true, leaseExpired: true}, silent},
		{observation{launchedHere: true, shared: true, blind: true, leaseExpired: true}, nothingToDo},
		{observation{launchedHere: true, blind: true}, nothingToDo},

		// Launched elsewhere.
		{observation{}, nothingToDo},
		{observation{leader: true}, nothingToDo},
		{observation{leader: true, reported: true, absentBefore: true}, nothingToDo}, // it runs in another runtime
		{observation{running: other}, nothingToDo},
		{observation{running: other, leader: true}, nothingToDo},

		// It does not report.
		{observation{running: 4, launchedHere: true, owned: true, leaseExpired: true, leader: true}, silent},
		{observation{running: 4, launchedHere: true, owned: true, leaseExpired: true}, nothingToDo}, // another gateway is the leader
		{observation{leaseExpired: true, leader: true}, silent},
		{observation{leaseExpired: true}, nothingToDo},
		{observation{running: other, leaseExpired: true, leader: true}, silent},
	} {
		c.generation = 4
		if got := evaluate(c.observation); got != c.want {
			t.Errorf("%+v: %d, want %d", c.observation, got, c.want)
		}
	}
}
