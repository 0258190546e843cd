//go:build linux

package main

import (
	"fmt"
	"strings"
	"time"
)

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
	Specification       specificationCost
	OtherCores          float64 // cores that the rest of the machine used meanwhile

	counters
	accuracy

	Peak               resources
	TransactionsPerSec float64

	Storms []storm
	Notes  []string // what could not be measured
}

// describe sets what was used between two looks at n streams.
func (r *result) describe(before, after snapshot, n float64) {
	took := after.at.Sub(before.at)
	r.Duration = took.Round(time.Second)
	r.CPUSecPerStreamHour = partsOf(before.usage, after.usage, n*took.Hours())
	r.TransactionsPerSec = float64(after.transactions-before.transactions) / took.Seconds()
	r.OtherCores = max(0, (after.machine-before.machine-(after.measured()-before.measured())).Seconds()/took.Seconds())
}

func line(name, format string, args ...any) {
	fmt.Printf("  %-32s %s\n", name, fmt.Sprintf(format, args...))
}

// print prints a result for people.
func (r result) print() {
	fmt.Printf("\n%d streams for %s, WORKER_RUNTIME=%s, a check every %d s, thresholds of %d s\n", r.Streams, r.Duration, r.Runtime, r.IntervalSec, r.ThresholdSec)
	line("tools", "%s", strings.Join(r.Tools, ", "))
	if r.Duration > 0 {
		r.printDuration()
	}
	for _, s := range r.Storms {
		s.print(r.Streams)
	}
	p := r.Peak
	line("memory (PSS, peak)", "%d MB: gateway %d, tools %d, PostgreSQL %d", p.GatewayMB+p.ToolsMB+p.PostgresMB, p.GatewayMB, p.ToolsMB, p.PostgresMB)
	line("the gateway's peak", "%d file descriptors, %d goroutines", p.Descriptors, p.Goroutines)
	for _, note := range r.Notes {
		line("note", "%s", note)
	}
}

// printDuration prints what was measured in the duration.
func (r result) printDuration() {
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
	if s := r.Specification; s.CPUSecPerStreamHour > 0 {
		line("the specification's method", "%21.2f   %.1f times as much: two runs of ffmpeg %.2f s, yt-dlp %.2f s",
			s.CPUSecPerStreamHour, s.CPUSecPerStreamHour/cpu.all(), s.FFmpegSec, s.YTDLPSec)
	}
	line("not counted: this program", "%21.2f", cpu.Program)
	line("cores in use by the product", "%21.2f", cpu.all()*float64(r.Streams)/time.Hour.Seconds())
	line("cores in use by others", "%21.2f", r.OtherCores)
	line("checks", "%d; %s", r.Checks, r.late())
	line("questions to yt-dlp", "%d", r.Questions)
	line("alerts", "%d of %d came, %d unexpected", r.Came, r.Expected, r.Unexpected)
	if r.Came > 0 {
		line("  after onset and threshold", "%s", r.AlertLatency)
		line("  error of the onset", "%s", r.OnsetError)
		line("  recoveries, after the end", "%s", r.RecoveryLatency)
	}
	line("database transactions", "%.1f a second", r.TransactionsPerSec)
}

func (c counters) late() string {
	return fmt.Sprintf("%d late by more than %s, %d by more than an interval, %.1f s at most", c.Late, lateBy, c.LateByInterval, c.LargestSec)
}
