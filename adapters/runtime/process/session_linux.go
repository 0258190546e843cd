package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// sweeps is how often a session is looked through; what is killed while it
// forks leaves something for the next time.
const sweeps = 5

// sweep kills every process of a session that belongs to it for certain. The
// tools that a worker runs have process groups of their own; the session is
// what they keep.
func sweep(session int, belongs func(stat) bool) {
	member := func(pid int) bool {
		s, ok := readStat(pid)
		return ok && s.session == session && !s.over() && belongs(s)
	}
	for range sweeps {
		found := false
		for _, pid := range processes() {
			if pid != session && kill(pid, member) {
				found = true
			}
		}
		if !found {
			return
		}
	}
}

// kill ends a process if it is what it is taken for, and tells whether it was:
// its number may become another's meanwhile, but not while a pidfd holds it.
func kill(pid int, is func(pid int) bool) (was bool) {
	if !is(pid) {
		return false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.3
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return true
	}
	if err != nil {
		return true
	}
	defer func() { _ = unix.Close(fd) }()
	if is(pid) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	return true
}
