package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestTheLogOfAFailingToolNamesTheMonitor(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	ports := newWatchingTools(config.WatchingFlags{YTDLPPath: tool, StreamlinkPath: tool, FFmpegPath: tool}, nil, newResolvingTools(config.WatchingFlags{}, slog.New(slog.DiscardHandler))).ports(nil, nil, nil, someMonitor, slog.New(slog.NewJSONHandler(&log, nil)))
	url, err := monitor.ParseStreamURL("https://www.youtube.com/watch?v=abcdefghijk")
	if err != nil {
		t.Fatal(err)
	}
	const failures = 20 // more than either breaker allows
	for range failures {
		ports.Resolver.Resolve(t.Context(), url)
	}
	warnings := 0
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, "A tool fails repeatedly") {
			continue
		}
		warnings++
		if !strings.Contains(line, `"monitor_id":"`+someMonitor+`"`) {
			t.Errorf("the monitor is not named: %s", line)
		}
	}
	if warnings == 0 {
		t.Errorf("no tool failed repeatedly: %s", &log)
	}
}
