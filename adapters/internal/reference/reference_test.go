package reference_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestNamesThatPlayersFindAreResolved(t *testing.T) {
	base := must.Get(url.Parse("https://cdn.example.com/live/720p/index.m3u8?key=s3cr3t"))(t)
	const folder = "https://cdn.example.com/live/720p/"
	for name, want := range map[string]string{
		"a.ts": folder + "a.ts", "/a.ts#b": "https://cdn.example.com/a.ts",
		"//b.example/c": "https://b.example/c", "http://b.example/c?d:e": "http://b.example/c?d:e",
		"cam_1__2026-11-28_12:00:06.000.ts": folder + "cam_1__2026-11-28_12:00:06.000.ts",
		"12:00:06.ts?x=1:2":                 folder + "12:00:06.ts?x=1:2",
		"100%.ts":                           folder + "100%25.ts",
		"50%:50%.ts":                        folder + "50%25:50%25.ts",
		"a%2Fb%2.ts":                        folder + "a%2Fb%252.ts",
		"https://b.example/100%.ts":         "https://b.example/100%25.ts",

		"file:///etc/passwd": "", "data:,x": "", "javascript:x": "", "http://": "", "http://[::1": "", "http://b.example:x/": "", "a\x00b": "", "a\x7f:b": "",
		strings.Repeat("x", 200): "",
	} {
		u, ok := reference.Resolve(base, name, 150)
		if ok != (want != "") || ok && u.String() != want {
			t.Errorf("%q: got %v, want %q", name, u, want)
		}
	}
}
