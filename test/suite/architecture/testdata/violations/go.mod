// A module in which every rule of the architecture test is broken once. It is
// never built; the test only reads what it imports.
module github.com/stream-monitor/stream-monitor

go 1.26.0
