package config

import (
	"os"
	"slices"
	"testing"
)

func TestSettingsReachWorkers(t *testing.T) { // P5
	flags := map[string]string{
		"YTDLP_PATH": "/opt/yt-dlp", "STREAMLINK_PATH": "/opt/streamlink", "FFMPEG_PATH": "/opt/ffmpeg", "DECODER_PATH": "/opt/segment-decoder",
		"STREAM_RENDITION": "best", "EVIDENCE_CAPTURE": "off", "EVIDENCE_BUDGET_MIB": "64", "HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2",
	}
	given := []string{"serve", "--ytdlp-path=/opt/yt-dlp", "--streamlink-path=/opt/streamlink", "--ffmpeg-path=/opt/ffmpeg", "--decoder-path=/opt/segment-decoder",
		"--stream-rendition=best", "--evidence-capture=off", "--evidence-budget-mib=64", "--http-proxy=http://p:1", "--https-proxy=http://p:2"}

	t.Run("given as flags only", func(t *testing.T) {
		clearEnvironment(t)
		env := mustParse(t, given...).Serve.Watching.Environ()
		for name, value := range flags {
			if !slices.Contains(env, name+"="+value) {
				t.Errorf("%s=%s is not in %q", name, value, env)
			}
		}
	})
	t.Run("and are the same settings there", func(t *testing.T) {
		clearEnvironment(t)
		serve := mustParse(t, given...).Serve.Watching
		serve.Export()
		if got := mustParse(t, "watch", "https://www.youtube.com/watch?v=abcdefghijk").Watch.Watching; got != serve {
			t.Errorf("a worker has %+v, want %+v", got, serve)
		}
	})
	t.Run("in a pod, once each, with the time zone", func(t *testing.T) { // section 14.2, decision A11
		clearEnvironment(t)
		t.Setenv("TZ", "Asia/Tokyo")
		got := mustParse(t, given...).Serve.Watching.PodEnviron()
		want := []string{"TZ=Asia/Tokyo"}
		for name, value := range flags {
			want = append(want, name+"="+value)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("it gets %q, want %q", got, want)
		}
		t.Setenv("TZ", "")
		if got := mustParse(t, "serve").Serve.Watching.PodEnviron(); !slices.Equal(got, []string{"STREAM_RENDITION=smallest", "EVIDENCE_CAPTURE=on", "EVIDENCE_BUDGET_MIB=256"}) {
			t.Errorf("with nothing given it gets %q", got)
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
