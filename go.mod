module github.com/stream-monitor/stream-monitor

go 1.26.0
