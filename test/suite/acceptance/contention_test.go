package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// maxWaiting is how long the threads of this process may wait for a CPU, for each second
// that they run, before the CPU counts as contended. With two busy cores it is 2 to 4; at
// 10 and more, segments of the fakes come too late.
const maxWaiting = 4.0

// contentionWindow is the shortest time over which contention is measured.
const contentionWindow = 500 * time.Millisecond

// contention tells whether the CPU is contended. A start needs a second or two of it, for
// yt-dlp and a gateway; several at once delay the checks of what runs already.
type contention struct {
	measured    time.Time     // last
	ran, waited time.Duration // of the threads of this process, when measured
	contended   bool
}

// isContended reports whether the CPU has been contended since the last measurement. It is
// false where the kernel does not count how long threads wait.
func (c *contention) isContended() bool {
	if time.Since(c.measured) < contentionWindow {
		return c.contended
	}
	ran, waited := threadTimes()
	c.contended = float64(waited-c.waited) > maxWaiting*float64(ran-c.ran)
	c.measured, c.ran, c.waited = time.Now(), ran, waited
	return c.contended
}

// threadTimes returns how long the threads of this process have run, and have waited for a
// CPU (schedstat in proc_pid_schedstat(5)).
func threadTimes() (ran, waited time.Duration) {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		var onCPU, queued int64 // ns
		if _, err := fmt.Sscan(string(text), &onCPU, &queued); err == nil {
			ran, waited = ran+time.Duration(onCPU), waited+time.Duration(queued)
		}
	}
	return ran, waited
}
