package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// hideFromTools makes this process one whose memory and environment no other process of its
// user can read or trace (PR_SET_DUMPABLE). They hold keys, and a tool that a hostile stream
// has taken over runs as the same user. Programs that it executes are not hidden.
func hideFromTools() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_DUMPABLE: %w", err)
	}
	return nil
}
