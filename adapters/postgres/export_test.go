package postgres

// Complete, LeaseQuery and DueBatch are shown to the tests of this package.
var Complete = complete

const (
	LeaseQuery = lease
	DueBatch   = dueBatch
)
