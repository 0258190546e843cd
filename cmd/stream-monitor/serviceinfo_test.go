package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

func TestTheServiceNamesItsTools(t *testing.T) { // section 17.4
	tool := func(answer string) string {
		path := filepath.Join(t.TempDir(), "tool")
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+answer+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	missing := filepath.Join(t.TempDir(), "missing")
	installed := config.WatchingFlags{
		YTDLPPath: tool("2026.01.29"), StreamlinkPath: missing, FFmpegPath: tool("ffmpeg version 7.1 Copyright"),
		DecoderPath: tool("segment-decoder 2 with libavcodec 59.37.100"),
	}
	without := installed
	without.DecoderPath = "off"
	for name, c := range map[string]struct {
		watching config.WatchingFlags
		want     map[string]string // empty: it does not run
	}{
		"installed":               {installed, map[string]string{"yt-dlp": "2026.01.29", "streamlink": "", "ffmpeg": "7.1", "segment-decoder": "2 with libavcodec 59.37.100"}},
		"without segment-decoder": {without, map[string]string{"yt-dlp": "2026.01.29", "streamlink": "", "ffmpeg": "7.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := (&toolVersions{watching: c.watching}).read(t.Context())
			if len(got) != len(c.want) {
				t.Errorf("the tools are %v", got)
			}
			for tool, version := range c.want {
				info, is := got[tool]
				if !is || (info.Version == nil) != (version == "") || (info.Error == nil) != (version != "") || version != "" && *info.Version != version {
					t.Errorf("%s is %+v", tool, info)
				}
			}
		})
	}
}
