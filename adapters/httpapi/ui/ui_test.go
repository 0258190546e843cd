package ui

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

var (
	script  = strings.Repeat("console.log('a script');\n", 100)
	example = fstest.MapFS{
		".gitkeep":              {},
		"index.html":            {Data: []byte("<!doctype html><title>the page app</title>")},
		"favicon.svg":           {Data: []byte("<svg/>")},
		"assets/index-ab12.js":  {Data: []byte(script)},
		"assets/index-ab12.css": {Data: []byte("a{}")},
	}
)

func newDashboard(t *testing.T, dist fstest.MapFS) *Dashboard {
	t.Helper()
	return must.Get(newFrom(dist, ""))(t)
}

// request sends a request with headers, given as pairs.
func request(d http.Handler, method, path string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	return string(must.Get(io.ReadAll(r.Body))(t))
}

func TestEveryPathHasItsFile(t *testing.T) {
	const html, notCached = "text/html; charset=utf-8", "no-cache"
	d := newDashboard(t, example)
	try := func(path string, status int, mediaType, cache, shows string) {
		t.Helper()
		r := request(d, "GET", path)
		got := body(t, r)
		if r.StatusCode != status || r.Header.Get("Content-Type") != mediaType || r.Header.Get("Cache-Control") != cache || !strings.Contains(got, shows) {
			t.Errorf("%s is answered with %d, %v: %.60s", path, r.StatusCode, r.Header, got)
		}
	}
	for _, page := range slices.Concat(Pages, []string{"/assets/", "/assets", "/.gitkeep"}) { // neither folders nor files that begin with a dot
		try(strings.NewReplacer(":incident_id", "inc-1", ":monitor_id", "mon-1", ":channel_id", "register").Replace(page), http.StatusOK, html, notCached, "the page app")
	}
	try("/assets/index-ab12.js", http.StatusOK, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", script)
	for _, path := range []string{"/assets/index-0000.js", "/assets/.gitkeep"} { // of another version
		try(path, http.StatusNotFound, "text/plain; charset=utf-8", "no-store", "Reload")
	}
	if got := d.Files(); len(got) != 1 || got[0] != "/favicon.svg" {
		t.Errorf("the files beside pages and assets are %v", got)
	}
	if r := request(d, "HEAD", "/assets/index-ab12.js"); r.StatusCode != http.StatusOK || r.ContentLength != int64(len(script)) || body(t, r) != "" {
		t.Errorf("HEAD is answered with %d, length %d", r.StatusCode, r.ContentLength)
	}
}

func TestAFileIsCompressedForClientsThatAcceptIt(t *testing.T) {
	d := newDashboard(t, example)
	for accepted, want := range map[string]string{
		"":                  "",
		"gzip, deflate, br": "gzip",
		"br, GZIP;q=0.5":    "gzip",
		"gzip;q=0":          "",
		"gzip; q=0.0, br":   "",
		"identity":          "",
	} {
		r := request(d, "GET", "/assets/index-ab12.js", "Accept-Encoding", accepted)
		if got := r.Header.Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: Content-Encoding is %q, want %q", accepted, got, want)
			continue
		}
		expect.Equal(t, fmt.Sprintf("Accept-Encoding %q: Vary", accepted), r.Header.Get("Vary"), "Accept-Encoding")
		content := body(t, r)
		if want == "gzip" {
			z := must.Get(gzip.NewReader(strings.NewReader(content)))(t)
			plain := must.Get(io.ReadAll(z))(t)
			content = string(plain)
		}
		expect.Equal(t, fmt.Sprintf("Accept-Encoding %q: the script", accepted), content, script)
	}
}

func TestAnUnchangedFileIsNotSentAgain(t *testing.T) {
	d := newDashboard(t, example)
	for _, encoding := range []string{"identity", "gzip"} {
		etag := request(d, "GET", "/", "Accept-Encoding", encoding).Header.Get("ETag")
		r := request(d, "GET", "/", "Accept-Encoding", encoding, "If-None-Match", `"other", W/`+etag)
		if r.StatusCode != http.StatusNotModified || body(t, r) != "" {
			t.Errorf("%s: status is %d", encoding, r.StatusCode)
		}
	}
	changed := newDashboard(t, fstest.MapFS{"index.html": {Data: []byte("another page app")}})
	etag := request(d, "GET", "/").Header.Get("ETag")
	expect.Equal(t, "after a change the status", request(changed, "GET", "/", "If-None-Match", etag).StatusCode, http.StatusOK)
}

func TestABinaryWithoutPagesSaysHowToBuildThem(t *testing.T) {
	d := newDashboard(t, fstest.MapFS{".gitkeep": {}})
	if d.Built() {
		t.Error("it claims to be built")
	}
	for _, path := range []string{"/", "/incidents", "/signin"} {
		r := request(d, "GET", path)
		got := body(t, r)
		if r.StatusCode != http.StatusNotImplemented || !strings.Contains(got, "make build") || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is answered with %d, %v: %s", path, r.StatusCode, r.Header, got)
		}
		for _, refused := range []string{"style=", "<style", "<script", "http:", "https:"} {
			if strings.Contains(got, refused) {
				t.Errorf("the page contains %q, which the policy refuses", refused)
			}
		}
	}
}

// TestThePolicyRefusesWhatIsNotAFileOfTheDashboard lists what must not come back:
// anything inline, any other host, frames of other sites.
func TestThePolicyRefusesWhatIsNotAFileOfTheDashboard(t *testing.T) {
	d := must.Get(newFrom(example, "https://media.example.com"))(t)
	for _, path := range []string{"/", "/signin", "/assets/index-ab12.js", "/assets/missing.js", "/favicon.svg"} {
		r := request(d, "GET", path)
		policy := r.Header.Get("Content-Security-Policy")
		for _, refused := range []string{"unsafe-", "http:", "*", "nonce-", "sha256-"} {
			if strings.Contains(policy, refused) {
				t.Errorf("%s: the policy contains %q: %s", path, refused, policy)
			}
		}
		for _, wanted := range []string{
			"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "base-uri 'none'", "frame-ancestors 'none'",
			"require-trusted-types-for 'script'", "img-src 'self' https://media.example.com blob:;", "media-src 'self' https://media.example.com;",
		} {
			expect.Text(t, "the policy", policy, wanted)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			expect.Equal(t, fmt.Sprintf("%s: %s", path, name), r.Header.Get(name), want)
		}
	}
}

// TestTheEmbeddedPagesAreWithoutInlineCode reads what the build made, if it made
// something: the policy would refuse inline code, and a page would stay empty.
func TestTheEmbeddedPagesAreWithoutInlineCode(t *testing.T) {
	d := must.Get(New(""))(t)
	page := d.files[index].plain
	for _, refused := range []string{"<style", " style=", " onload=", "javascript:", "http://", "https://", "<script>"} {
		if bytes.Contains(page, []byte(refused)) {
			t.Errorf("index.html contains %q", refused)
		}
	}
}
