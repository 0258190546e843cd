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

const someMonitor = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"

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

func TestADecoderThatIsMissingIsLoggedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		path      string
		decodes   bool
		lines     int
		installed bool
	}{
		"not found":  {"", false, 1, false},
		"found":      {"", true, 0, true},
		"off":        {"off", false, 0, true},
		"configured": {"/opt/segment-decoder", true, 0, false}, // Decode says that it is missing
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("PATH", dir)
			if c.installed {
				if err := os.WriteFile(filepath.Join(dir, "segment-decoder"), []byte("#!/bin/sh\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			pool := newDecoderPool(config.WatchingFlags{DecoderPath: c.path}, 1, slog.New(slog.NewTextHandler(&log, nil)))
			defer pool.Close()
			if (pool != nil) != c.decodes {
				t.Errorf("the pool is %v", pool)
			}
			if n := strings.Count(log.String(), "segment-decoder was not found"); n != c.lines {
				t.Errorf("logged %d lines, want %d: %s", n, c.lines, &log)
			}
		})
	}
}
