package monitor_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAStreamURLIsNormalisedOrRefused(t *testing.T) { // decision A1
	const canonical = "https://www.youtube.com/watch?v=dQw4w9WgXc_"
	for _, s := range []string{
		canonical,
		"http://www.youtube.com/watch?v=dQw4w9WgXc_",
		"https://youtube.com/watch?v=dQw4w9WgXc_",
		"https://m.youtube.com/watch?v=dQw4w9WgXc_",
		"https://WWW.YouTube.com/watch?v=dQw4w9WgXc_",
		"HTTPS://www.youtube.com/watch?v=dQw4w9WgXc_",
		"https://www.youtube.com/watch?t=90&v=dQw4w9WgXc_&list=PL0123456789",
		"https://www.youtube.com/watch?v=dQw4w9WgXc_#t=10",
		"https://www.youtube.com/watch?v=dQw4w9WgXc%5F",
	} {
		got, err := monitor.ParseStreamURL(s)
		if err != nil || string(got) != canonical {
			t.Errorf("%s: got %q, %v", s, got, err)
		}
		if got.Source() != monitor.YouTube {
			t.Errorf("%s: source %q", s, got.Source())
		}
	}
	for _, s := range []string{
		"", "hello", "https://", "https://www.youtube.com", "https://www.youtube.com/watch",
		"https://www.youtube.com/watch?v=", "https://www.youtube.com/watch?v=short",
		"https://www.youtube.com/watch?v=twelve_chars", "https://www.youtube.com/watch?v=dQw4w9WgXc%2F",
		"https://www.youtube.com/watch?v=dQw4w9WgXc_&v=dQw4w9WgXcQ",
		"https://youtu.be/dQw4w9WgXc_", "https://www.youtube.com/live/dQw4w9WgXc_",
		"https://www.youtube.com/@channel", "https://www.youtube.com/channel/UC0123456789012345678901/live",
		"https://www.youtube.com/playlist?list=PL0", "https://www.youtube.com/embed/dQw4w9WgXc_",
		"https://www.youtube.com/watch/?v=dQw4w9WgXc_",
		"https://www.youtube.com:8443/watch?v=dQw4w9WgXc_",
		"https://user@www.youtube.com/watch?v=dQw4w9WgXc_",
		"https://www.youtube.com.evil.test/watch?v=dQw4w9WgXc_",
		"https://evil.test/watch?v=dQw4w9WgXc_", "ftp://www.youtube.com/watch?v=dQw4w9WgXc_",
		"//www.youtube.com/watch?v=dQw4w9WgXc_", "https://www.youtube.com/watch?v=%zz",
		canonical + strings.Repeat("&x=1", 200),
	} {
		if got, err := monitor.ParseStreamURL(s); code(err) != monitor.InvalidURL || !strings.Contains(err.Error(), "https://www.youtube.com/watch?v=") {
			t.Errorf("%.80s: got %q, %v; want INVALID_URL that says what is accepted", s, got, err)
		}
	}
}

func TestACallbackURLIsAcceptedOrRefused(t *testing.T) { // decision A2
	for _, s := range []string{
		"https://example.com/hook", "http://10.0.0.1:8080/hook?x=1", "https://[2001:db8::1]/x", "https://例え.jp/hook",
		"https://example.com:1/", "https://example.com:65535/", "https://example.com:/", "https://[2001:db8::1]:8443/",
	} {
		if got, err := monitor.ParseCallbackURL(s); err != nil || string(got) != s {
			t.Errorf("%s: got %q, %v", s, got, err)
		}
	}
	for _, s := range []string{
		"", "example.com/hook", "/hook", "ftp://example.com", "https://", "https:///hook", "https:example.com",
		"https://user:secret@example.com/", "https://example.com/#fragment", "https://example.com/#", "https://exa mple.com/",
		"https://example.com:0/", "https://example.com:65536/", "https://example.com:99999999999999999999/", "https://[2001:db8::1]:0/",
		"https://example.com/" + strings.Repeat("a", 500),
	} {
		if got, err := monitor.ParseCallbackURL(s); code(err) != monitor.InvalidURL {
			t.Errorf("%.60s: got %q, %v", s, got, err)
		}
	}
	exactly := "https://example.com/" + strings.Repeat("a", monitor.MaxURLLength-len("https://example.com/"))
	if _, err := monitor.ParseCallbackURL(exactly); err != nil {
		t.Errorf("512 characters: %v", err)
	}
	if _, err := monitor.ParseCallbackURL(exactly + "a"); err == nil {
		t.Error("513 characters are accepted")
	}
}

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
