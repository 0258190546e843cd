//go:build faults

package faultinject

import (
	"os"
	"strings"
	"time"
	"unsafe"
)

// clockVariable names a file with a duration that is added to the wall clock, such as
// "1h" or "-1h". A missing or empty file means no offset.
const clockVariable = "CLOCK_OFFSET_FILE"

// steppedClock returns a clock like that of a machine whose time was set by hand:
// the wall clock jumps, the monotonic clock does not (clock_gettime(2)).
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

// stepWall moves the wall clock reading of a time and keeps its monotonic reading.
// No method of time.Time does that: Add moves both. The first word of a time with a
// monotonic reading is a flag, 33 bits of seconds and 30 bits of nanoseconds
// (package time, type Time).
func stepWall(t time.Time, by time.Duration) time.Time {
	const flag, secondsAt = 1 << 63, 30
	word := (*uint64)(unsafe.Pointer(&t))
	if *word&flag == 0 {
		return t.Add(by)
	}
	*word += uint64(int64(by/time.Second)) << secondsAt
	return t
}
