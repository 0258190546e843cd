package monitor_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAnotherSourceFollowsFromItsRow(t *testing.T) {
	before := monitor.Sources
	t.Cleanup(func() { monitor.Sources = before })
	monitor.Sources = append(slices.Clone(before), monitor.Source{
		Name:     "example",
		Hosts:    []string{"live.example.com"},
		Accepted: "https://live.example.com/CHANNEL",
		Prefix:   "https://live.example.com/",
		ID: func(u *url.URL) (id, why string) {
			if id = strings.Trim(u.Path, "/"); id == "" {
				return "", "names no channel"
			}
			return id, ""
		},
	})

	for given, want := range map[string]struct {
		canonical monitor.StreamURL
		source    monitor.SourceName
	}{
		"http://LIVE.example.com/news/?t=1":         {"https://live.example.com/news", "example"},
		"https://m.youtube.com/watch?v=dQw4w9WgXcQ": {"https://www.youtube.com/watch?v=dQw4w9WgXcQ", monitor.YouTube},
	} {
		got, err := monitor.ParseStreamURL(given)
		if err != nil || got != want.canonical || got.Source() != want.source {
			t.Errorf("%s is %s of %q, %v", given, got, got.Source(), err)
		}
	}
	for given, words := range map[string][]string{
		"https://live.example.com/": {"names no channel", "accepted is https://live.example.com/CHANNEL"},
		"https://example.org/news":  {"is not on www.youtube.com or live.example.com", "https://www.youtube.com/watch?v=ID", "https://live.example.com/CHANNEL"},
	} {
		_, err := monitor.ParseStreamURL(given)
		for _, word := range words {
			if code(err) != monitor.InvalidURL || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v; want %q", given, err, word)
			}
		}
	}
	if name := monitor.StreamURL("https://example.org/news").Source(); name != "" {
		t.Errorf("a URL of no source is of %q", name)
	}
}
