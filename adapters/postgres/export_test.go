package postgres

import "time"

// CompleteDSN, LeaseQuery, ClaimBatch and MaxUnconfirmed are for the tests of this
// package.
var CompleteDSN = completeDSN

const (
	LeaseQuery     = leaseQuery
	ClaimBatch     = claimBatch
	MaxUnconfirmed = maxUnconfirmed
)

// UnconfirmedLeases returns the number of unconfirmed leases.
func (o *Outbox) UnconfirmedLeases() int { return len(o.leases.beginCall().unconfirmed) }

// ShortenTimeouts makes a store detect a lost listening connection, and the server
// an unused leader, within about a second.
func (s *Store) ShortenTimeouts() {
	s.keepAliveInterval, s.keepAliveTimeout = 100*time.Millisecond, 300*time.Millisecond
	s.idleTimeout = time.Second
}
