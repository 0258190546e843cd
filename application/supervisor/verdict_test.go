package supervisor

import "testing"

// Section 10.4, decisions O3 and O5.
func TestEvidenceLeadsToItsVerdict(t *testing.T) {
	const other = 3 // another generation than the newest, which is 4
	for _, c := range []struct {
		evidence
		want verdict
	}{
		// Launched here, in a runtime of its own: its worker runs.
		{evidence{runningGeneration: 4, inOwnRuntime: true, ownedByGateway: true}, nothingToDo},
		{evidence{runningGeneration: 4, inOwnRuntime: true}, adopt},
		{evidence{runningGeneration: 4, inOwnRuntime: true, leader: true}, adopt},
		// Its worker does not run.
		{evidence{inOwnRuntime: true}, missing},
		{evidence{inOwnRuntime: true, leader: true}, missing},
		{evidence{inOwnRuntime: true, ownedByGateway: true}, nothingToDo}, // it is being launched, or its exit will be reported
		{evidence{inOwnRuntime: true, runningGeneration: other}, missing},
		{evidence{inOwnRuntime: true, runningGeneration: other, ownedByGateway: true}, nothingToDo},
		{evidence{inOwnRuntime: true, runningGeneration: 5}, missing}, // a database that was restored
		{evidence{inOwnRuntime: true, leaseExpired: true, leader: true}, missing},

		// Launched here, in a shared runtime.
		{evidence{runningGeneration: 4, inOwnRuntime: true, sharedRuntime: true}, nothingToDo}, // one of them looks after it
		{evidence{runningGeneration: 4, inOwnRuntime: true, sharedRuntime: true, leader: true}, adopt},
		{evidence{runningGeneration: 4, inOwnRuntime: true, sharedRuntime: true, leader: true, ownedByGateway: true}, nothingToDo},
		{evidence{inOwnRuntime: true, sharedRuntime: true, leader: true, reported: true}, nothingToDo}, // it may be being launched
		{evidence{inOwnRuntime: true, sharedRuntime: true, leader: true, reported: true, unlistedBefore: true}, missing},
		{evidence{inOwnRuntime: true, sharedRuntime: true, leader: true, reported: true, unlistedBefore: true, ownedByGateway: true}, nothingToDo},
		{evidence{inOwnRuntime: true, sharedRuntime: true, reported: true, unlistedBefore: true}, nothingToDo},
		{evidence{inOwnRuntime: true, sharedRuntime: true, leader: true, unlistedBefore: true}, nothingToDo}, // it is being launched
		{evidence{inOwnRuntime: true, sharedRuntime: true, leader: true, unlistedBefore: true, leaseExpired: true}, missing},
		{evidence{inOwnRuntime: true, sharedRuntime: true, leader: true, runningGeneration: other, reported: true, unlistedBefore: true}, missing},

		// Workers cannot be listed.
		{evidence{inOwnRuntime: true, sharedRuntime: true, leader: true, listUnavailable: true, reported: true, unlistedBefore: true}, nothingToDo},
		{evidence{inOwnRuntime: true, sharedRuntime: true, leader: true, listUnavailable: true, leaseExpired: true}, silent},
		{evidence{inOwnRuntime: true, sharedRuntime: true, listUnavailable: true, leaseExpired: true}, nothingToDo},
		{evidence{inOwnRuntime: true, listUnavailable: true}, nothingToDo},

		// Launched elsewhere.
		{evidence{}, nothingToDo},
		{evidence{leader: true}, nothingToDo},
		{evidence{leader: true, reported: true, unlistedBefore: true}, nothingToDo}, // it runs in another runtime
		{evidence{runningGeneration: other}, nothingToDo},
		{evidence{runningGeneration: other, leader: true}, nothingToDo},

		// It does not report.
		{evidence{runningGeneration: 4, inOwnRuntime: true, ownedByGateway: true, leaseExpired: true, leader: true}, silent},
		{evidence{runningGeneration: 4, inOwnRuntime: true, ownedByGateway: true, leaseExpired: true}, nothingToDo}, // another gateway is the leader
		{evidence{leaseExpired: true, leader: true}, silent},
		{evidence{leaseExpired: true}, nothingToDo},
		{evidence{runningGeneration: other, leaseExpired: true, leader: true}, silent},
	} {
		c.newestGeneration = 4
		if got := evaluate(c.evidence); got != c.want {
			t.Errorf("%+v: %d, want %d", c.evidence, got, c.want)
		}
	}
}
