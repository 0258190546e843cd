package config

import (
	"os"
	"strings"
	"testing"
)

func TestSettingsReachWorkers(t *testing.T) { // P5
	flags := map[string]string{
		"YTDLP_PATH": "/opt/yt-dlp", "STREAMLINK_PATH": "/opt/streamlink", "FFMPEG_PATH": "/opt/ffmpeg", "DECODER_PATH": "/opt/segment-decoder", "LAUNCHER_PATH": "/opt/tool-launcher",
		"STREAM_RENDITION": "best", "EVIDENCE_CAPTURE": "off", "EVIDENCE_BUDGET_MIB": "64", "HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2",
		"EGRESS_PROXIES": "http://u:w@p:3,direct", "EGRESS_QUESTIONS_PER_HOUR": "600",
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
