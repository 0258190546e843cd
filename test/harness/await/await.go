// Package await waits in tests for what another goroutine or process does.
package await

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Limit is how long a test waits on a busy machine. A process that has to be ended must run for longer.
const Limit = 45 * time.Second

// True polls until is returns true. After Limit it fails the test and returns false.
func True(t testing.TB, what string, is func() bool) bool {
	t.Helper()
	for deadline := time.Now().Add(Limit); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("not within %s: %s", Limit, what)
			return false
		}
	}
	return true
}

// End fails the test unless a process ends within Limit.
func End(t testing.TB, pid int) {
	t.Helper()
	True(t, fmt.Sprintf("process %d has ended", pid), func() bool { return Ended(pid) })
}

// Ended reports whether a process has ended, waited for or not (proc_pid_stat(5)).
func Ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(state, "Z")
}
