//go:build linux

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// lateChecks is what the log says about checks that began more than 1 s late.
type lateChecks struct {
	Late       int
	LargestSec float64
}

// result is what was measured of one number of streams.
type result struct {
	Streams      int
	Runtime      string
	IntervalSec  int
	ThresholdSec int
	Duration     time.Duration
	Tools        []string // that the gateway ran

	CPUSecPerStreamHour parts
	StartSec            parts // CPU seconds for the start of a stream, and until the measurement
	Yardstick           yardstickCost
	OtherCores          float64 // cores that the rest of the machine used meanwhile

	counters
	accuracy

	LoggedLate         lateChecks
	Peak               resources
	TransactionsPerSec float64

	Storms []storm
	Notes  []string // what could not be measured
}

// describeWindow sets what was used between two looks at n streams.
func (r *result) describeWindow(before, after snapshot, n float64) {
	took := after.at.Sub(before.at)
	if took <= 0 {
		return // interrupted before the first look
	}
	r.Duration = took.Round(time.Second)
	r.CPUSecPerStreamHour = partsOf(before.usage, after.usage, n*took.Hours())
	r.TransactionsPerSec = float64(after.transactions-before.transactions) / took.Seconds()
	r.OtherCores = max(0, (after.machine-before.machine-(after.measured()-before.measured())).Seconds()/took.Seconds())
}

// print prints a result for people.
func (r result) print(out io.Writer) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "  %-32s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(out, "\n%d streams for %s, WORKER_RUNTIME=%s, a check every %d s, thresholds of %d s\n", r.Streams, r.Duration, r.Runtime, r.IntervalSec, r.ThresholdSec)
	line("tools", "%s", strings.Join(r.Tools, ", "))
	if r.Duration > 0 {
		r.printWindow(line)
	}
	if len(r.Storms) > 0 {
		fmt.Fprintf(out, "  storms: all %d streams at once\n", r.Streams)
	}
	for _, s := range r.Storms {
		s.print(line, r.Streams)
	}
	line("memory (PSS, peak)", "%d MB: gateway %d, tools %d, PostgreSQL %d", r.Peak.bytes()>>20, r.Peak.GatewayBytes>>20, r.Peak.ToolsBytes>>20, r.Peak.PostgresBytes>>20)
	line("the gateway's peak", "%d file descriptors, %d goroutines, %d threads", r.Peak.Descriptors, r.Peak.Goroutines, r.Peak.Threads)
	for _, note := range r.Notes {
		line("note", "%s", note)
	}
}

// printWindow prints what was measured in the duration.
func (r result) printWindow(line func(name, format string, args ...any)) {
	cpu, start := r.CPUSecPerStreamHour, r.StartSec
	line("", "CPU s per stream-hour   CPU s for its start")
	for _, p := range []struct {
		name      string
		cpu, once float64
	}{
		{"gateway", cpu.Gateway, start.Gateway}, {"analyser", cpu.Analyser, start.Analyser},
		{"resolver", cpu.Resolver, start.Resolver}, {"PostgreSQL", cpu.PostgreSQL, start.PostgreSQL},
		{"all", cpu.all(), start.all()},
	} {
		line(p.name, "%21.2f %21.2f", p.cpu, p.once)
	}
	if y := r.Yardstick; y.Streams > 0 {
		line("the specification's method", "%21.2f   %.1f times as much: two runs of ffmpeg %.2f s, yt-dlp %.2f s",
			y.CPUSecPerStreamHour, y.CPUSecPerStreamHour/cpu.all(), y.FFmpegSec, y.YTDLPSec)
	}
	line("not counted: media server", "%21.2f", cpu.MediaServer)
	line("not counted: this program", "%21.2f", cpu.Program)
	line("cores in use by the product", "%21.2f", cpu.all()*float64(r.Streams)/time.Hour.Seconds())
	line("cores in use by others", "%21.2f", r.OtherCores)
	line("checks", "%d; %d late by more than 1 s, %d by more than an interval, %.1f s at most", r.Checks, r.Late, r.LateByInterval, r.LargestSec)
	line("late by the gateway's log", "%d, by %.1f s at most", r.LoggedLate.Late, r.LoggedLate.LargestSec)
	line("questions to yt-dlp", "%d", r.Questions)
	r.accuracy.print(line)
	line("database transactions", "%.1f a second", r.TransactionsPerSec)
}

// print prints the accuracy as lines with a name.
func (a accuracy) print(line func(name, format string, args ...any)) {
	if a.Expected == 0 {
		line("alerts", "none expected (-trouble is 0 or -for is too short), %d came", a.Unexpected)
		return
	}
	seconds := func(name string, d distribution) {
		line(name, "p50 %.2f s, p99 %.2f s, largest %.2f s", d.P50, d.P99, d.Max)
	}
	line("alerts", "%d of %d came, %d unexpected", a.Expected-a.Missed, a.Expected, a.Unexpected)
	if a.Missed < a.Expected {
		seconds("  after onset and threshold", a.AlertLatency)
		seconds("  error of the onset", a.OnsetError)
	}
	if a.Recoveries > 0 {
		seconds(fmt.Sprintf("%d recoveries, after the end", a.Recoveries), a.RecoveryLatency)
	}
}
