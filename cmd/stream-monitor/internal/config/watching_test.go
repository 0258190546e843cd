package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSettingsReachWorkers(t *testing.T) { // P5
	flags := map[string]string{
		"YTDLP_PATH": "/opt/yt-dlp", "STREAMLINK_PATH": "/opt/streamlink", "FFMPEG_PATH": "/opt/ffmpeg", "DECODER_PATH": "/opt/segment-decoder", "LAUNCHER_PATH": "/opt/tool-launcher",
		"YTDLP_PLAYER_CLIENTS": "default,-web", "YTDLP_PO_TOKEN_URL": "http://127.0.0.1:4416", "YTDLP_JS_RUNTIME": "node:/opt/node",
		"STREAM_RENDITION": "best", "EVIDENCE_CAPTURE": "off", "EVIDENCE_BUDGET_MIB": "64", "HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2",
		"MEDIA_ALLOWED_NETWORKS": "10.0.0.0/8,fd00::/8",
		"EGRESS_PROXIES":         "http://u:w@p:3,direct", "EGRESS_QUESTIONS_PER_HOUR": "600",
	}
	given := []string{"serve"}
	for name, value := range flags {
		given = append(given, "--"+strings.ToLower(strings.ReplaceAll(name, "_", "-"))+"="+value)
	}

	t.Run("and are the same settings there", func(t *testing.T) {
		clearEnvironment(t)
		serve := mustParse(t, given...).Serve.Watching
		for _, variable := range serve.Environ() {
			name, value, _ := strings.Cut(variable, "=")
			t.Setenv(name, value)
		}
		if got := mustParse(t, "watch", "https://www.youtube.com/watch?v=abcdefghijk").Watch.Watching; got != serve {
			t.Errorf("a worker has %+v, want %+v", got, serve)
		}
	})
	t.Run("and the tools of this process, but for the list of proxies", func(t *testing.T) {
		clearEnvironment(t)
		mustParse(t, given...).Serve.Watching.Export()
		if got := os.Getenv("HTTPS_PROXY"); got != "http://p:2" {
			t.Errorf("HTTPS_PROXY is %q", got)
		}
		if got := os.Getenv("EGRESS_PROXIES"); got != "" {
			t.Errorf("EGRESS_PROXIES is %q", got)
		}
	})
	t.Run("and a flag that empties a variable empties it there", func(t *testing.T) {
		clearEnvironment(t)
		t.Setenv("HTTPS_PROXY", "http://p:3")
		t.Setenv("https_proxy", "http://p:4")
		mustParse(t, "serve", "--https-proxy=").Serve.Watching.Export()
		for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
			if value, there := os.LookupEnv(name); there {
				t.Errorf("%s is %q", name, value)
			}
		}
	})
}

func program(t *testing.T, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheDecoderIsFoundWithoutASetting(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if tool, found := findIn(bin, "segment-decoder", ownPlaces); found {
		t.Errorf("found %v in an empty folder", tool)
	}
	installed := program(t, dir, ".tools", "bin", "segment-decoder")
	if tool, _ := findIn(bin, "segment-decoder", ownPlaces); tool != (Tool{installed, `"make tools"`}) {
		t.Errorf("found %v", tool)
	}
	beside := program(t, bin, "segment-decoder")
	if tool, _ := findIn(bin, "segment-decoder", ownPlaces); tool != (Tool{beside, "the folder of stream-monitor"}) {
		t.Errorf("found %v", tool)
	}
	t.Run("else in PATH", func(t *testing.T) {
		t.Setenv("PATH", bin)
		if tool, is := (WatchingFlags{}).Decoder(); !is || tool != (Tool{beside, "PATH"}) {
			t.Errorf("found %v, %v", tool, is)
		}
		t.Setenv("PATH", t.TempDir())
		if tool, is := (WatchingFlags{}).Decoder(); !is || tool.FoundBy != "" {
			t.Errorf("found %v, %v without any", tool, is)
		}
	})
	t.Run("unless DECODER_PATH says otherwise", func(t *testing.T) {
		if tool, is := (WatchingFlags{DecoderPath: "/opt/x"}).Decoder(); !is || tool != (Tool{"/opt/x", "DECODER_PATH"}) {
			t.Errorf("found %v, %v", tool, is)
		}
		t.Setenv("PATH", bin)
		if tool, is := (WatchingFlags{DecoderPath: "off"}).Decoder(); is {
			t.Errorf("found %v, although it is off", tool)
		}
	})
}
