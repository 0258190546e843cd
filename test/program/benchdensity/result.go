//go:build linux

package main

import (
	"fmt"
	"io"
	"time"
)

// usage is CPU time until an instant.
type usage struct {
	cpuByRole

	postgres, server, program time.Duration
}

// parts is CPU time by part, in seconds for each of something.
type parts struct {
	Gateway, Analyser, Resolver, PostgreSQL float64

	MediaServer, Program float64 // not part of the cost
}

// partsOf divides what was used between two instants by a number.
func partsOf(before, after usage, by float64) parts {
	per := func(from, to time.Duration) float64 { return (to - from).Seconds() / by }
	return parts{
		Gateway: per(before.product, after.product), Analyser: per(before.analyser, after.analyser),
		Resolver: per(before.resolver, after.resolver), PostgreSQL: per(before.postgres, after.postgres),
		MediaServer: per(before.server, after.server), Program: per(before.program, after.program),
	}
}

func (p parts) all() float64 { return p.Gateway + p.Analyser + p.Resolver + p.PostgreSQL }

// resources is what the gateway and its neighbours hold.
type resources struct {
	GatewayBytes, ToolsBytes, PostgresBytes int64 // proportional set size
	Descriptors, Threads, Goroutines        int   // of the gateway
}

// raise keeps the larger value of each.
func (r *resources) raise(now resources) {
	*r = resources{
		max(r.GatewayBytes, now.GatewayBytes), max(r.ToolsBytes, now.ToolsBytes), max(r.PostgresBytes, now.PostgresBytes),
		max(r.Descriptors, now.Descriptors), max(r.Threads, now.Threads), max(r.Goroutines, now.Goroutines),
	}
}

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

	CPUSecPerStreamHour parts
	StartSec            parts // CPU seconds for the start of a stream, and until the measurement
	Yardstick           yardstickCost

	Checks     int64 // analysed segments
	LateChecks lateChecks
	accuracy

	Peak               resources
	TransactionsPerSec float64
}

// print prints a result for people.
func (r result) print(out io.Writer) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "  %-32s %s\n", name, fmt.Sprintf(format, args...))
	}
	cpu, start := r.CPUSecPerStreamHour, r.StartSec
	fmt.Fprintf(out, "\n%d streams for %s, WORKER_RUNTIME=%s, a check every %d s, thresholds of %d s\n", r.Streams, r.Duration, r.Runtime, r.IntervalSec, r.ThresholdSec)
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
	line("checks late by more than 1 s", "%d of %d, by %.1f s at most", r.LateChecks.Late, r.Checks, r.LateChecks.LargestSec)
	r.accuracy.print(line)
	line("memory (PSS, peak)", "gateway %d MB, tools %d MB, PostgreSQL %d MB", r.Peak.GatewayBytes>>20, r.Peak.ToolsBytes>>20, r.Peak.PostgresBytes>>20)
	line("the gateway's peak", "%d file descriptors, %d goroutines, %d threads", r.Peak.Descriptors, r.Peak.Goroutines, r.Peak.Threads)
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
