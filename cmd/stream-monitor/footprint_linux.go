package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// unneeded is after how long pages of the program count as unneeded. What is
// needed again is mapped again, from the page cache, in about a millisecond in all.
const unneeded = 20 * time.Second

// keepSmall gives the pages of this program's file back that are not in use, until
// ctx is done. All parts of the program are initialised in every process, the API
// of a whole cluster included; a worker needs few of them, at its start more than
// later, and there is one for every stream. Where it cannot be done, nothing is
// lost.
func keepSmall(ctx context.Context) {
	pages := cleanPages()
	for {
		for _, p := range pages {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, p.from, p.to-p.from, unix.MADV_DONTNEED)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(unneeded):
		}
	}
}

// stretch is a range of addresses, without its end.
type stretch struct{ from, to uintptr }

// cleanPages finds where this program's file is mapped and no page was ever
// written to: one that was, such as a relocation, is in memory alone
// (proc_pid_smaps(5)).
func cleanPages() []stretch {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was read
	var clean []stretch
	var at stretch
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		var s stretch
		var access string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &s.from, &s.to, &access); n == 3 {
			if at = (stretch{}); strings.HasPrefix(access, "r-") && strings.HasSuffix(line, " "+path) {
				at = s
			}
		}
		if value, ok := strings.CutPrefix(line, "Anonymous:"); ok && strings.Fields(value)[0] == "0" && at.from < at.to {
			clean = append(clean, at)
		}
	}
	return clean
}
