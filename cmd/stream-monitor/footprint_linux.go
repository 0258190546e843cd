package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetStart gives the pages of this program's file back that only its start has
// needed. All of its parts are initialised in every process, the API of a whole
// cluster included; a worker needs few of them, and there is one for every stream.
// What is needed again is mapped again, from the page cache. Where it cannot be
// done, nothing is lost.
func forgetStart() {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // it was read
	var from, to uintptr
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		var begin, end uintptr
		var access string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &begin, &end, &access); n == 3 {
			if from, to = 0, 0; access[0] == 'r' && access[1] == '-' && strings.HasSuffix(line, " "+path) {
				from, to = begin, end
			}
		}
		// What was written to, such as relocations, is in memory alone.
		if clean := strings.HasPrefix(line, "Anonymous:") && strings.Fields(line)[1] == "0"; clean && from < to {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
			from, to = 0, 0
		}
	}
}
