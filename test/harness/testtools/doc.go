// Package testtools finds the programs that the service calls, and a cache directory
// for test material that is made once.
package testtools
