package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpu is the CPU time that PostgreSQL and this process have used. On a busy machine it says
// more than a rate.
type cpu struct{ server, process time.Duration }

// clockTick is the unit of times in /proc (USER_HZ, 100 on every Linux that Go supports).
const clockTick = 10 * time.Millisecond

// cpuTime returns the CPU time until now. Without /proc that of PostgreSQL is 0.
func (b *bench) cpuTime() (used cpu) {
	var own syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &own) == nil {
		used.process = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	}
	main, err := os.ReadFile(filepath.Join(b.dataDir, "postgres", "postmaster.pid"))
	if err != nil {
		return used
	}
	pid, _, _ := strings.Cut(string(main), "\n")
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// Fields after the name: state, parent, …; 12 to 15 are the times, those of ended children included.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 15 || fields[1] != pid && filepath.Base(filepath.Dir(path)) != pid {
			continue
		}
		for _, ticks := range fields[11:15] {
			n, _ := strconv.Atoi(ticks)
			used.server += time.Duration(n) * clockTick
		}
	}
	return used
}

// per says what an event cost since an earlier time.
func (c cpu) per(events int, before cpu) string {
	return fmt.Sprintf("CPU for each: PostgreSQL %.2f ms, this process %.2f ms", ms(c.server-before.server)/float64(events), ms(c.process-before.process)/float64(events))
}
