package postgres

import "time"

// Complete, LeaseQuery, DueBatch and MostUnsure are shown to the tests of this package.
var Complete = complete

const (
	LeaseQuery = lease
	DueBatch   = dueBatch
	MostUnsure = mostUnsure
)

// Unsure is how many names of lost leases are asked for.
func (s *Store) Unsure() int { return len(s.unsure.take().unsure) }

// Prick makes a store notice sooner that it hears nothing, and its office pass on
// sooner.
func (s *Store) Prick() {
	s.ears = ears{100 * time.Millisecond, 300 * time.Millisecond}
	s.office.term = time.Second
}
