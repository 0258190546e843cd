package supervisor

import "testing"

// Section 10.4, decisions O3 and O5.
func TestEvidenceLeadsToItsVerdict(t *testing.T) {
	const other = 3 // another generation than the newest, which is 4
	for _, c := range []struct {
		facts
		want verdict
	}{
		// Launched here, in a runtime of its own: its worker runs.
		{facts{runningGeneration: 4, inOwnRuntime: true, ownedByGateway: true}, nothingToDo},
		{facts{runningGeneration: 4, inOwnRuntime: true}, adopt},
		{facts{runningGeneration: 4, inOwnRuntime: true, leader: true}, adopt},
		// Its worker does not run.
		{facts{inOwnRuntime: true}, missing},
		{facts{inOwnRuntime: true, leader: true}, missing},
		{facts{inOwnRuntime: true, ownedByGateway: true}, nothingToDo}, // it is being launched, or its exit will be reported
		{facts{inOwnRuntime: true, runningGeneration: other}, missing},
		{facts{inOwnRuntime: true, runningGeneration: other, ownedByGateway: true}, nothingToDo},
		{facts{inOwnRuntime: true, runningGeneration: 5}, missing}, // a database that was restored
		{facts{inOwnRuntime: true, leaseExpired: true, leader: true}, missing},

		// Launched here, in a shared runtime.
		{facts{runningGeneration: 4, inOwnRuntime: true, sharedRuntime: true}, nothingToDo}, // one of them looks after it
		{facts{runningGeneration: 4, inOwnRuntime: true, sharedRuntime: true, leader: true}, adopt},
		{facts{runningGeneration: 4, inOwnRuntime: true, sharedRuntime: true, leader: true, ownedByGateway: true}, nothingToDo},
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, reported: true}, nothingToDo}, // it may be being launched
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, reported: true, unlistedBefore: true}, missing},
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, reported: true, unlistedBefore: true, ownedByGateway: true}, nothingToDo},
		{facts{inOwnRuntime: true, sharedRuntime: true, reported: true, unlistedBefore: true}, nothingToDo},
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, unlistedBefore: true}, nothingToDo}, // it is being launched
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, unlistedBefore: true, leaseExpired: true}, missing},
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, runningGeneration: other, reported: true, unlistedBefore: true}, missing},

		// Workers cannot be listed.
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, listUnavailable: true, reported: true, unlistedBefore: true}, nothingToDo},
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, listUnavailable: true, leaseExpired: true}, silent},
		{facts{inOwnRuntime: true, sharedRuntime: true, listUnavailable: true, leaseExpired: true}, nothingToDo},
		{facts{inOwnRuntime: true, listUnavailable: true}, nothingToDo},

		// Launched elsewhere.
		{facts{}, nothingToDo},
		{facts{leader: true}, nothingToDo},
		{facts{leader: true, reported: true, unlistedBefore: true}, nothingToDo}, // it runs in another runtime
		{facts{runningGeneration: other}, outdated},
		{facts{runningGeneration: other, leader: true}, outdated},
		{facts{runningGeneration: 5, leader: true}, nothingToDo}, // a database that was restored
		{facts{runningGeneration: other, leader: true, busy: true}, nothingToDo},

		// This gateway refuses its token.
		{facts{runningGeneration: 4, refused: true, inOwnRuntime: true, sharedRuntime: true, leader: true}, refused},
		{facts{runningGeneration: 4, refused: true, inOwnRuntime: true, sharedRuntime: true, leader: true, leaseExpired: true}, refused},
		{facts{runningGeneration: 4, refused: true, inOwnRuntime: true, sharedRuntime: true}, nothingToDo}, // another gateway is the leader
		{facts{runningGeneration: 4, refused: true, inOwnRuntime: true}, refused},
		{facts{runningGeneration: other, refused: true, inOwnRuntime: true, sharedRuntime: true, leader: true}, nothingToDo}, // the next one is being launched

		// It does not report.
		{facts{runningGeneration: 4, inOwnRuntime: true, ownedByGateway: true, leaseExpired: true, leader: true}, silent},
		{facts{runningGeneration: 4, inOwnRuntime: true, ownedByGateway: true, leaseExpired: true}, nothingToDo}, // another gateway is the leader
		{facts{gatewayBeats: true, leaseExpired: true, leader: true}, silent},
		{facts{gatewayBeats: true, leaseExpired: true}, nothingToDo},
		{facts{gatewayBeats: true, runningGeneration: other, leaseExpired: true, leader: true}, silent},

		// Its gateway has died.
		{facts{takesOver: true}, abandoned},
		{facts{takesOver: true, busy: true}, nothingToDo},
		{facts{takesOver: true, leaseExpired: true, leader: true}, abandoned},
		{facts{takesOver: true, listUnavailable: true}, abandoned},
		{facts{takesOver: true, runningGeneration: other}, abandoned}, // of an earlier generation, which ran here
		{facts{leaseExpired: true, leader: true}, abandoned},          // it died before this gateway saw it alive
		{facts{leaseExpired: true}, nothingToDo},
		{facts{runningGeneration: other, leaseExpired: true, leader: true}, abandoned},

		// It has no active monitor.
		{facts{unneeded: true, runningGeneration: 4}, unneeded},
		{facts{unneeded: true, runningGeneration: 4, busy: true}, nothingToDo},
		{facts{unneeded: true, runningGeneration: 4, ownedByGateway: true}, nothingToDo}, // it ends by itself
		{facts{unneeded: true, runningGeneration: 4, ownedByGateway: true, unneededFor: orphanGracePeriod}, unneeded},
	} {
		c.newestGeneration = 4
		if got := evaluate(c.facts); got != c.want {
			t.Errorf("%+v: %d, want %d", c.facts, got, c.want)
		}
	}
}
