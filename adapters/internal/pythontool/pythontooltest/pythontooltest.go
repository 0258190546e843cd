// Package pythontooltest is shared by the tests of yt-dlp and streamlink. It finds
// the real tools, makes fake ones, and runs the table of failures that both adapters must
// handle.
package pythontooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// URL is the stream of the tests.
const URL = monitor.StreamURL("https://www.youtube.com/watch?v=abcdefghijk")

// Find returns the real tool: the one that the environment variable names, the
// repository's own, or the one in PATH.
func Find(t testing.TB, variable, name string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	_, here, _, _ := runtime.Caller(0)
	own := filepath.Join(filepath.Dir(here), "../../../..", ".tools/venv/bin", name)
	if _, err := os.Stat(own); err == nil {
		return own
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is needed: run make tools, or set %s", name, variable)
	}
	return path
}

// NoNetwork sets a proxy that does not exist.
func NoNetwork(t *testing.T) {
	t.Helper()
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	for _, name := range []string{"NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
}

// Script makes a tool from a shell script. The script can write into the file "$notes".
func Script(t *testing.T, body string) (path, notes string) {
	t.Helper()
	dir := t.TempDir()
	path, notes = filepath.Join(dir, "tool"), filepath.Join(dir, "notes")
	must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\nnotes='"+notes+"'\n"+body+"\n"), 0o755))
	return path, notes
}

// Resolver is the type under test.
type Resolver interface {
	Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution
}

// NewResolver makes the resolver under test for a tool with a time limit.
type NewResolver func(path string, timeout time.Duration, log *slog.Logger) Resolver

// misbehaviour is a tool that misbehaves, and the resolution that it gives.
type misbehaviour struct {
	script string // empty: the tool does not exist
	state  watch.StreamState
	says   string
}

var misbehaviours = map[string]misbehaviour{
	"that hangs":                 {`exec sleep 60`, watch.Unreachable, "no answer within"},
	"that hangs after a refusal": {`echo "WARNING: HTTP Error 429: Too Many Requests. Retrying" >&2; exec sleep 60`, watch.RateLimited, "429"},
	"that is killed":             {`kill -9 $$`, watch.ToolFailed, "killed"},
	"that prints HTML":           {`echo "<html>"`, watch.ToolFailed, ""},
	"that prints nothing":        {`exit 0`, watch.ToolFailed, ""},
	"that does not know options": {`echo "tool: error: no such option: --json" >&2; exit 2`, watch.ToolFailed, "no such option"},
	"that crashes":               {`printf 'Traceback (most recent call last):\n  File "x"\nImportError: no module named x\n' >&2; exit 1`, watch.ToolFailed, "no module named x"},
	"that writes 100 MB":         {`head -c 104857600 /dev/zero`, watch.ToolFailed, "wrote more than"},
	"that warns for 100 MB":      {`yes WARNING: again and again | head -c 104857600 >&2`, watch.ToolFailed, "wrote more than"},
	"that is not installed":      {``, watch.ToolFailed, "install"},
}

// Run makes resolvers for tools that misbehave and checks the state, the detail and the
// time taken. That no process is left is shown by package subprocess.
func Run(t *testing.T, newResolver NewResolver) {
	for name, m := range misbehaviours {
		t.Run("a tool "+name, func(t *testing.T) { testMisbehaviour(t, newResolver, m) })
	}
	t.Run("a cancelled Resolve returns at once", func(t *testing.T) { testCancel(t, newResolver) })
	t.Run("the URL comes after -- and the environment is passed on", func(t *testing.T) { testArguments(t, newResolver) })
	t.Run("no signed URL gets into the log", func(t *testing.T) { testLog(t, newResolver) })
}

func testMisbehaviour(t *testing.T, newResolver NewResolver, m misbehaviour) {
	path, _ := Script(t, m.script)
	limit := time.Minute
	if strings.Contains(m.says, "no answer") || m.state.Refused() {
		limit = 400 * time.Millisecond
	}
	if m.script == "" {
		must.Do(t, os.Remove(path))
	}
	began := time.Now()
	got := newResolver(path, limit, slog.New(slog.DiscardHandler)).Resolve(t.Context(), URL)
	for m.state.Refused() && got.State != m.state && limit < time.Minute { // on a slow machine the limit ended the tool before its refusal was read
		limit *= 2
		began = time.Now()
		got = newResolver(path, limit, slog.New(slog.DiscardHandler)).Resolve(t.Context(), URL)
	}
	if got.State != m.state || !strings.Contains(got.Detail, m.says) || got.Detail == "" {
		t.Errorf("got %s (%s)", got.State, got.Detail)
	}
	if got.Source == "" {
		t.Error("the resolution has no source")
	}
	if took := time.Since(began); took > 40*time.Second { // its processes sleep for a minute
		t.Errorf("took %v", took)
	}
}

func testCancel(t *testing.T, newResolver NewResolver) {
	path, notes := Script(t, `echo begun >"$notes"; exec sleep 60`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		await.True(t, "the tool has begun", func() bool { text, _ := os.ReadFile(notes); return len(text) > 0 })
	}()
	got := newResolver(path, time.Minute, slog.New(slog.DiscardHandler)).Resolve(ctx, URL)
	if got.State.Known() || !strings.Contains(got.Detail, "stopped before it had an answer") {
		t.Errorf("got %+v", got)
	}
}

func testArguments(t *testing.T, newResolver NewResolver) {
	path, notes := Script(t, `for a; do echo "$a"; done >"$notes"; echo "$HTTPS_PROXY $SSL_CERT_FILE $PYTHONPATH" >>"$notes"`)
	for _, name := range []string{"HTTPS_PROXY", "SSL_CERT_FILE", "PYTHONPATH"} {
		t.Setenv(name, "some-"+name)
	}
	newResolver(path, 10*time.Second, slog.New(slog.DiscardHandler)).Resolve(t.Context(), URL)
	text := must.Get(os.ReadFile(notes))(t)
	if end := "\n--\n" + string(URL) + "\nsome-HTTPS_PROXY some-SSL_CERT_FILE some-PYTHONPATH\n"; !strings.HasSuffix(string(text), end) {
		t.Errorf("was given %q", text)
	}
}

func testLog(t *testing.T, newResolver NewResolver) {
	path, _ := Script(t, `echo "ERROR: GET https://rr1.googlevideo.com/videoplayback/sig/SECRET?sig=SECRET failed" >&2; exit 1`)
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	got := newResolver(path, 10*time.Second, log).Resolve(t.Context(), URL)
	if all := logged.String() + got.Detail; strings.Contains(all, "SECRET") || !strings.Contains(all, "rr1.googlevideo.com") {
		t.Errorf("logged and answered %q", all)
	}
}

// TestWithoutNetwork checks the answers of a real tool for a stream, and for URLs that look like options,
// on a machine without a network.
func TestWithoutNetwork(t *testing.T, r Resolver, option watch.StreamState, says string) {
	NoNetwork(t)
	if got := r.Resolve(t.Context(), URL); got.State != watch.ProxyFailed || !strings.Contains(got.Detail, "proxy") {
		t.Errorf("got %s (%s)", got.State, got.Detail)
	}
	for _, address := range []monitor.StreamURL{"--version", "-h"} {
		if got := r.Resolve(t.Context(), address); got.State != option || !strings.Contains(got.Detail, says) {
			t.Errorf("%s: got %s (%s)", address, got.State, got.Detail)
		}
	}
}

// secret matches what no Detail may contain: more of a URL than its host, and the signed
// paths of YouTube's media.
var secret = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>\\/?#]*(?:@|[/?#][/?#.,;:)\]]*[^\s"'<>\\/?#.,;:)\]…])|/(?:videoplayback|api/manifest)\b`)

// CheckResolution checks that a Resolution can be stored. Its Detail is short and has no secret. Its
// URLs can be fetched, and have at most maxURL bytes.
func CheckResolution(t *testing.T, got watch.Resolution, maxURL int) {
	t.Helper()
	if d := got.Detail; len(d) > pythontool.MaxLine || strings.ContainsAny(d, "\n\r\x00") || !utf8.ValidString(d) || secret.MatchString(d) {
		t.Errorf("detail %q", d)
	}
	if _, err := json.Marshal(got); err != nil {
		t.Errorf("the resolution cannot be stored as JSON: %v", err)
	}
	urls := []string{got.Manifest}
	for _, r := range got.Renditions {
		urls = append(urls, r.URL)
		if r.Height < 0 || r.Bandwidth < 0 || r.Alternate && !r.HasAudio {
			t.Errorf("rendition %+v", r)
		}
	}
	for i, raw := range urls {
		u, err := url.Parse(raw)
		if (i > 0 || raw != "") && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(raw) > maxURL) {
			t.Errorf("%q is not a URL that can be fetched", raw)
		}
	}
}
