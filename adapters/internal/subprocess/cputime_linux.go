package subprocess

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the user and system time of a process until now; 0: it has ended.
func cpuTime(pid int) time.Duration {
	// clock_getcpuclockid(3) makes the ID of the clock in this way.
	const scheduled = 2 // the time for which the process has run
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduled, &at); err != nil { //nolint:gosec // a PID has 22 bits
		return 0
	}
	return time.Duration(at.Nano())
}
