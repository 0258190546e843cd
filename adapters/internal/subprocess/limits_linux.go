package subprocess

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// impose sets the limits of a process, for good. ESRCH: it has ended.
func (l Limits) impose(pid int) error {
	var all []limit
	if l.DataBytes > 0 {
		all = append(all, limit{"memory", unix.RLIMIT_DATA, uint64(l.DataBytes), 0})
	}
	if l.CPUTime > 0 {
		// The second more is for SIGXCPU to be told from other signals by: a process
		// whose two limits are one is killed without it.
		all = append(all, limit{"CPU time", unix.RLIMIT_CPU, uint64((l.CPUTime-1)/time.Second) + 1, 1})
	}
	if l.OpenFiles > 0 {
		all = append(all, limit{"open files", unix.RLIMIT_NOFILE, uint64(l.OpenFiles), 0})
	}
	if l.NoFileWrites {
		all = append(all, limit{"file size", unix.RLIMIT_FSIZE, 0, 0}, limit{"core dump", unix.RLIMIT_CORE, 0, 0})
	}
	for _, one := range all {
		if err := one.impose(pid); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

// limit is one of the kernel's, whose hard value is more above its soft one.
type limit struct {
	name     string
	resource int
	soft     uint64
	more     uint64
}

// impose lowers the limit and never raises it, which is root's alone to do.
func (l limit) impose(pid int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, l.resource, nil, &now); err != nil {
		return err
	}
	hard := min(now.Max, l.soft+l.more)
	return unix.Prlimit(pid, l.resource, &unix.Rlimit{Cur: min(now.Cur, l.soft, hard), Max: hard}, nil)
}
