package watch_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// carried returns the fields of a request that comes after others by redirects.
func carried(t *testing.T, h *watch.RequestHeader, to string, before ...string) string {
	t.Helper()
	var all []*url.URL
	for _, raw := range append(before, to) {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	last := len(all) - 1
	return fmt.Sprint(h.For(all[last], all[:last]...))
}

func TestARequestCarriesWhatBelongsToItsServer(t *testing.T) {
	h := watch.NewRequestHeader(
		map[string]string{"User-Agent": "browser", "Referer": "https://site.test/live", "X-Token": "secret", "Accept": "*/*", "Range": "bytes=0-"},
		[]watch.Cookie{{Name: "all", Value: "1", Domain: ".cdn.test"}, {Name: "own", Value: "2", Domain: "a.cdn.test", Path: "/live", Secure: true}},
		[]string{"", "https://a.cdn.test/live/master.m3u8", "https://b.test:8443/x"},
	)
	const own = "referer:https://site.test/live user-agent:browser x-token:secret"
	for _, c := range []struct{ to, before, want string }{
		{"https://a.cdn.test/live/list.m3u8", "", "cookie:all=1; own=2 " + own},
		{"https://A.CDN.test:443/live", "", "cookie:all=1; own=2 " + own},
		{"https://a.cdn.test/lively", "", "cookie:all=1 " + own},
		{"https://b.test:8443/segment", "", own},
		{"https://b.test/segment", "", "user-agent:browser"},
		{"http://a.cdn.test/live/x", "", "cookie:all=1 user-agent:browser"},
		{"https://c.cdn.test/live/x", "", "cookie:all=1 user-agent:browser"},
		{"https://evilcdn.test/live/x", "", "user-agent:browser"},
		{"https://a.cdn.test.evil.test/live/x", "", "user-agent:browser"},
		{"https://a.cdn.test/live/x", "https://a.cdn.test/y", "cookie:all=1; own=2 " + own},
		{"https://b.test:8443/x", "https://a.cdn.test/y", "user-agent:browser"},                 // also to the origin of another URL
		{"https://a.cdn.test/x", "https://elsewhere.test/y", "cookie:all=1 user-agent:browser"}, // a stranger decides the path
	} {
		var before []string
		if c.before != "" {
			before = []string{c.before}
		}
		if got := carried(t, h, c.to, before...); got != "map["+c.want+"]" {
			t.Errorf("%s after %q gets %s, want %s", c.to, c.before, got, c.want)
		}
	}
	if text := fmt.Sprintf("%v %+v", h, struct{ H *watch.RequestHeader }{h}); strings.Contains(text, "secret") {
		t.Errorf("it prints as %s", text)
	}
}

func TestAHeaderIsBounded(t *testing.T) {
	const media = "https://a.test/x"
	long := strings.Repeat("x", watch.MaxHeaderBytes)
	for name, c := range map[string]struct {
		fields  map[string]string
		cookies []watch.Cookie
		want    string
	}{
		"nothing":                    {nil, nil, "map[]"},
		"nothing that matters":       {map[string]string{"Accept": "*/*", "Host": "b.test", "X-Empty": ""}, nil, "map[]"},
		"a value that is too long":   {map[string]string{"X-Long": long, "Origin": "https://a.test"}, nil, "map[origin:https://a.test]"},
		"a value with a line break":  {map[string]string{"X-Odd": "a\r\nHost: b.test", "Authorization": "token"}, nil, "map[authorization:token]"},
		"a cookie that is too long":  {nil, []watch.Cookie{{Name: "a", Value: long, Domain: "a.test"}, {Name: "b", Value: "1", Domain: "a.test"}}, "map[cookie:b=1]"},
		"a cookie of no domain":      {nil, []watch.Cookie{{Name: "a", Value: "1"}}, "map[]"},
		"a cookie that is several":   {nil, []watch.Cookie{{Name: "a", Value: "1; b=2", Domain: "a.test"}}, "map[]"},
		"a field of cookies as well": {map[string]string{"Cookie": "a=1"}, []watch.Cookie{{Name: "b", Value: "2", Domain: "a.test"}}, "map[cookie:a=1; b=2]"},
	} {
		h := watch.NewRequestHeader(c.fields, c.cookies, []string{media})
		if got := carried(t, h, media); got != c.want {
			t.Errorf("%s gives %s, want %s", name, got, c.want)
		}
	}
}
