package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
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

func TestAChannelIsListedThroughTheChosenAddress(t *testing.T) {
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	tool := filepath.Join(t.TempDir(), "tool")
	must.Do(t, os.WriteFile(tool, []byte("#!/bin/sh\necho \"ERROR: through $HTTPS_PROXY: $*\" >&2\n"), 0o700))
	flags := config.WatchingFlags{YTDLPPath: tool, EgressProxies: "direct," + proxy.URL}
	ways := newResolvingTools(flags, slog.New(slog.DiscardHandler)).listers(flags, slog.New(slog.DiscardHandler))[monitor.YouTube]
	ctx := request.WithEgress(t.Context(), strings.TrimPrefix(proxy.URL, "http://"))
	_, err := ways[0].List(ctx, "https://www.youtube.com/@someone")
	expect.Failure(t, err, "network", "YouTube was not reached: Forbidden")
	expect.Equal(t, "the proxy was asked for", <-asked, "CONNECT www.youtube.com:443")
	_, err = ways[1].List(ctx, "https://www.youtube.com/@someone")
	expect.Failure(t, err, "unreadable", "through "+proxy.URL, "--flat-playlist")

	// The key of the API may be restricted to one address.
	tools := newResolvingTools(config.WatchingFlags{EgressProxies: proxy.URL + ",direct"}, slog.New(slog.DiscardHandler))
	_, err = newYouTubeAPI(tools.proxies, "key").List(request.WithEgress(t.Context(), "direct"), "https://www.youtube.com/@someone")
	expect.Failure(t, err, "network", "Forbidden")
	expect.Equal(t, "the first proxy was asked for", <-asked, "CONNECT www.googleapis.com:443")
}

func TestEachSourceThatHasChannelsListsThem(t *testing.T) { // section 20.2
	flags := config.WatchingFlags{}
	listers := newResolvingTools(flags, slog.New(slog.DiscardHandler)).listers(flags, slog.New(slog.DiscardHandler))
	for _, source := range monitor.Sources {
		if has := source.Channels != nil || source.IsPlace(); has != (len(listers[source.Name]) > 0) {
			t.Errorf("%s has channels: %t; it has %d ways to list their streams", source.Title, has, len(listers[source.Name]))
		}
	}
}

func TestPagesOfChannelsShareTheAddressesOfStreams(t *testing.T) { // section 10.3
	tool := filepath.Join(t.TempDir(), "tool")
	must.Do(t, os.WriteFile(tool, []byte("#!/bin/sh\nexit 1\n"), 0o700))
	flags := config.WatchingFlags{YTDLPPath: tool, StreamlinkPath: tool, EgressProxies: "direct,http://a.example:1", EgressQuestions: "100"}
	tools := newResolvingTools(flags, slog.New(slog.DiscardHandler))
	pages := pageBudget{tools.egress}
	url := must.Get(monitor.ParseStreamURL("https://www.youtube.com/watch?v=abcdefghijk"))(t)
	resolver := tools.sources(flags, slog.New(slog.DiscardHandler))[monitor.YouTube].Resolver
	first := resolver.Resolve(t.Context(), url).Egress
	for range egress.MaxFailures {
		pages.Record(request.WithEgress(t.Context(), first), monitor.YouTube, watch.RateLimited)
	}
	through, ok := pages.Page(t.Context(), monitor.YouTube)
	other := resolver.Resolve(t.Context(), url).Egress
	if other == first || request.Egress(through) != other || !ok {
		t.Errorf("pages have failed through %s; the stream is asked about through %s, the next page through %s", first, other, request.Egress(through))
	}
	for _, a := range tools.egress.Status() {
		want, rests := map[bool]int{true: 1, false: 2}[a.Name == first], a.Name == first
		if a.Source != monitor.YouTube { // nobody has asked another one
			want, rests = 0, false
		}
		if a.Questions != want || (a.RestSec > 0) != rests {
			t.Errorf("the status has %+v, want %d questions", a, want)
		}
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

func TestWithoutUIThereIsNoDashboard(t *testing.T) {
	for setting, want := range map[string]bool{"on": true, "off": false} {
		got, err := newDashboard(&config.Serve{UI: setting})
		if err != nil || (got != nil) != want {
			t.Errorf("UI=%s: the dashboard is %v (%v)", setting, got, err)
		}
	}
}

func TestTheAddressOfTheDashboardIsOneThatABrowserReaches(t *testing.T) {
	for name, c := range map[string]struct {
		settings        config.Serve
		listening, want string
	}{
		"every address":  {config.Serve{}, "[::]:8080", "http://localhost:8080"},
		"one address":    {config.Serve{}, "127.0.0.1:8080", "http://127.0.0.1:8080"},
		"with TLS":       {config.Serve{TLSCertFile: "cert.pem"}, "0.0.0.0:8080", "https://localhost:8080"},
		"with its proxy": {config.Serve{PublicURL: "https://monitor.example.com/"}, "[::]:8080", "https://monitor.example.com"},
	} {
		if got := dashboardURL(&c.settings, c.listening); got != c.want {
			t.Errorf("%s: the address is %s, want %s", name, got, c.want)
		}
	}
}

func TestTheDashboardIsShownOnlyIfThereIsOne(t *testing.T) {
	var screen bytes.Buffer
	g := &gatewayServer{settings: &config.Serve{UI: "off"}, log: slog.New(slog.DiscardHandler), person: &screen}
	g.showDashboard()
	if screen.Len() > 0 {
		t.Errorf("with UI=off it shows %q", &screen)
	}
}

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

func TestEverySourceHasItsPackage(t *testing.T) {
	for _, row := range monitor.Sources {
		if sourcePackages[row.Name].source == nil {
			t.Errorf("sourcePackages lacks %s", row.Name)
		}
		if u, err := monitor.ParseStreamURL(string(row.Example)); err != nil || u != row.Example || row.Title == "" {
			t.Errorf("the row of %s lacks a title or an example: %v", row.Name, err)
		}
	}
}

func TestEveryChannelOfMessagesHasASender(t *testing.T) {
	senders := messageSenders(nil, time.Now)
	for _, c := range notify.Channels() {
		if !c.GetsEvents && senders[c.Kind] == nil {
			t.Errorf("messageSenders has no sender of %s", c.Kind)
		}
	}
}
