//go:build faults

package main

import (
	"os"
	"strings"
	"time"
	"unsafe"
)

// clockVariable names a file that says by how much the clock has been stepped,
// such as "1h" or "-1h"; none, or an empty one: not at all.
const clockVariable = "CLOCK_OFFSET_FILE"

// steppedClock is now on a machine whose clock was set by hand: the wall clock
// jumps and the monotonic one does not (clock_gettime(2)).
func steppedClock(now func() time.Time) func() time.Time {
	path := os.Getenv(clockVariable)
	if path == "" {
		return now
	}
	return func() time.Time {
		text, err := os.ReadFile(path)
		if err != nil {
			return now()
		}
		offset, err := time.ParseDuration(strings.TrimSpace(string(text)))
		if err != nil {
			return now()
		}
		return stepWall(now(), offset)
	}
}

// stepWall moves the wall clock reading of a time that has a monotonic reading
// too, and leaves that as it is, which no method of time.Time does: Add moves
// both. The first word of such a time is a flag, 33 bits of seconds and 30 of
// nanoseconds (package time, type Time).
func stepWall(t time.Time, by time.Duration) time.Time {
	const flag, secondsAt = 1 << 63, 30
	word := (*uint64)(unsafe.Pointer(&t))
	if *word&flag == 0 {
		return t.Add(by)
	}
	*word += uint64(int64(by/time.Second)) << secondsAt
	return t
}
