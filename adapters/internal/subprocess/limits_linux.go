package subprocess

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// apply sets the limits of a process for good. Errors: ESRCH when it has ended.
func (l Limits) apply(pid int) error {
	var all []limit
	if l.DataBytes > 0 {
		all = append(all, limit{"memory", unix.RLIMIT_DATA, uint64(l.DataBytes), 0})
	}
	if l.CPUTime > 0 {
		// With a hard limit above the soft one the process gets SIGXCPU, by which the
		// caller recognizes the cause; with equal limits it is killed at once.
		all = append(all, limit{"CPU time", unix.RLIMIT_CPU, uint64((l.CPUTime-1)/time.Second) + 1, 1})
	}
	if l.OpenFiles > 0 {
		all = append(all, limit{"open files", unix.RLIMIT_NOFILE, uint64(l.OpenFiles), 0})
	}
	if l.NoFileWrites || l.FileBytes > 0 {
		size := uint64(max(l.FileBytes, 0))
		if l.NoFileWrites {
			size = 0
		}
		all = append(all, limit{"file size", unix.RLIMIT_FSIZE, size, 0}, limit{"core dump", unix.RLIMIT_CORE, 0, 0})
	}
	for _, limit := range all {
		if err := limit.apply(pid); err != nil {
			return fmt.Errorf("%s: %w", limit.name, err)
		}
	}
	return nil
}

// limit is one kernel limit. Its hard value is soft plus hardMargin.
type limit struct {
	name       string
	resource   int
	soft       uint64
	hardMargin uint64
}

// apply lowers the limit and never raises it, which only root may do.
func (l limit) apply(pid int) error {
	var current unix.Rlimit
	if err := unix.Prlimit(pid, l.resource, nil, &current); err != nil {
		return err
	}
	hard := min(current.Max, l.soft+l.hardMargin)
	return unix.Prlimit(pid, l.resource, &unix.Rlimit{Cur: min(current.Cur, l.soft, hard), Max: hard}, nil)
}
