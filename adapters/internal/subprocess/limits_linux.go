package subprocess

import (
	"time"

	"golang.org/x/sys/unix"
)

// steps returns what sets the limits for good. tool-launcher lowers a limit and never raises it, which
// only root may do.
func (l Limits) steps() (all []step) {
	add := func(name string, resource int, soft, hard uint64) {
		all = append(all, step{stepLimit, "limit of " + name, numbers(uint64(resource), soft, hard)}) //nolint:gosec // a small constant
	}
	if l.DataBytes > 0 {
		add("memory", unix.RLIMIT_DATA, uint64(l.DataBytes), uint64(l.DataBytes))
	}
	if l.CPUTime > 0 {
		// With a hard limit above the soft one the process gets SIGXCPU, by which the
		// caller recognizes the cause; with equal limits it is killed at once.
		seconds := uint64((l.CPUTime-1)/time.Second) + 1
		add("CPU time", unix.RLIMIT_CPU, seconds, seconds+1)
	}
	if l.OpenFiles > 0 {
		add("open files", unix.RLIMIT_NOFILE, uint64(l.OpenFiles), uint64(l.OpenFiles))
	}
	if l.NoFileWrites || l.FileBytes > 0 {
		size := uint64(max(l.FileBytes, 0))
		if l.NoFileWrites {
			size = 0
		}
		add("file size", unix.RLIMIT_FSIZE, size, size)
		add("core dump", unix.RLIMIT_CORE, 0, 0)
	}
	return all
}
