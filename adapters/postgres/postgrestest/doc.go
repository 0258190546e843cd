// Package postgrestest starts a real PostgreSQL for the tests of a package, and gives each test an empty,
// migrated database within milliseconds.
package postgrestest
