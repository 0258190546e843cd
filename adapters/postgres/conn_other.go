//go:build !linux

package postgres

import (
	"syscall"
)

// setUserTimeout does nothing: the option is not portable. The ioTimeout of a
// contextConn takes its place.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
