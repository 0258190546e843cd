//go:build !linux

package postgres

import "syscall"

// limitUnacknowledged is for net.Dialer.Control: nothing that is known
// everywhere. The limit of a wire stands in for it.
func limitUnacknowledged(string, string, syscall.RawConn) error { return nil }
