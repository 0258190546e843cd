package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/application/feed/feedtest"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// feedStream is a connection to the feed of a real server.
type feedStream struct {
	t        testing.TB
	response *http.Response
	lines    *bufio.Scanner
}

// openFeed connects to a server with the limits of the API.
func (api *testAPI) openFeed(path string, header http.Header) feedStream {
	api.t.Helper()
	server := httptest.NewUnstartedServer(api.handlers.Public())
	server.Config.ReadTimeout, server.Config.WriteTimeout = api.serverTimeout, api.serverTimeout
	server.Start()
	api.t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(api.t.Context(), time.Minute)
	api.t.Cleanup(cancel)
	r := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil))(api.t)
	r.Header = header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if r.Header.Get(publicKeyHeader) == "" {
		r.Header.Set(publicKeyHeader, apiKey)
	}
	response, err := http.DefaultClient.Do(r)
	for err != nil && ctx.Err() == nil { // a busy machine may send the request later than the server waits
		response, err = http.DefaultClient.Do(r)
	}
	must.Do(api.t, err)
	api.t.Cleanup(func() { _ = response.Body.Close() })
	return feedStream{api.t, response, bufio.NewScanner(response.Body)}
}

// until reads lines up to one that has the text, and returns it.
func (s feedStream) until(text string) string {
	s.t.Helper()
	for s.lines.Scan() {
		if strings.Contains(s.lines.Text(), text) {
			return s.lines.Text()
		}
	}
	s.t.Fatalf("the feed ended before %q: %v", text, s.lines.Err())
	return ""
}

func position(version string) string { return feedtest.Epoch + "-" + version }

func TestTheFeedIsSentAsServerSentEvents(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t)
	api.feed.Append(2)
	s := api.openFeed("/api/v1/feed", nil)
	if got := s.response.Header; got.Get("Content-Type") != "text/event-stream" || got.Get("X-Accel-Buffering") != "no" || got.Get("Cache-Control") != "no-store" {
		t.Errorf("the headers are %v", got)
	}
	s.until("retry: ")
	expect.Equal(t, "the first message", s.until("id: "), "id: "+position("2"))
	s.until("event: state.replace")
	api.feed.Append(1)
	s.until("id: " + position("3"))
	s.until("event: monitor.updated")
	s.until(`data: {"id":"` + position("3") + `","version":3,"type":"monitor.updated","at":"2024-01-15T10:55:00.123Z","data":{`)
}

// The test is longer than the timeouts of its server and of its requests.
func TestTheFeedOutlivesTheTimeoutsOfTheServer(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t, func(c *testConfig) { c.RequestTimeout = 500 * time.Millisecond })
	api.serverTimeout = 600 * time.Millisecond
	s := api.openFeed("/api/v1/feed", nil)
	for began := time.Now(); time.Since(began) < time.Second; {
		s.until("event: heartbeat")
	}
}

func TestTheFeedEndsWhenItsKeyIsRevoked(t *testing.T) { // section 12.4
	api := newTestAPI(t, func(c *testConfig) { c.Now = time.Now })
	s := api.openFeed("/api/v1/feed", http.Header{publicKeyHeader: {api.createKey("ann", "view")}})
	s.until("heartbeat")
	api.delete(keyURL).hasStatus(http.StatusOK)
	for s.lines.Scan() {
	}
	if err := s.lines.Err(); err != nil { // its end is no timeout of this test
		t.Error(err)
	}
}

func TestLastEventIDContinuesTheFeed(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		position("1"): "id: " + position("2"),
		"nonsense":    "id: " + position("3"), // of state.replace
	} {
		api := newTestAPI(t)
		api.feed.Append(3)
		s := api.openFeed("/api/v1/feed?after="+position("3"), http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {id}})
		expect.Equal(t, fmt.Sprintf("after %s comes", id), s.until("id: "), want)
	}
}

func TestNDJSONEndsWithTheNewestEntry(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t)
	api.feed.Append(700) // more than a page
	response := api.get("/api/v1/feed?after=" + position("1")).hasStatus(http.StatusOK)
	lines := strings.Split(strings.TrimSuffix(string(response.body), "\n"), "\n")
	if len(lines) != 699 || !strings.Contains(lines[0], `"version":2,`) || !strings.Contains(lines[698], `"version":700,`) {
		t.Errorf("%d lines came, the first %s", len(lines), lines[0])
	}
	if got := api.get("/api/v1/feed?after=" + position("700")); got.status != http.StatusOK || len(got.body) != 0 {
		t.Errorf("after the newest entry came %d %q, want nothing", got.status, got.body)
	}
}

func TestNDJSONFollowsOnRequest(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t)
	s := api.openFeed("/api/v1/feed?follow=true&after="+position("0"), http.Header{"Accept": {"application/x-ndjson"}})
	expect.Equal(t, "the type", s.response.Header.Get("Content-Type"), "application/x-ndjson")
	api.feed.Append(1)
	if line := s.until(`"monitor.updated"`); !strings.HasPrefix(line, `{"id":"`+position("1")+`"`) {
		t.Errorf("the line is %s", line)
	}
}

func TestTheFormatOfTheFeedFollowsAccept(t *testing.T) {
	t.Parallel()
	const sse, lines = "text/event-stream", "application/x-ndjson"
	for _, c := range []struct{ accept, query, want string }{
		{"", "", sse},
		{"*/*", "", sse},
		{"*/*", "?follow=true", lines},
		{sse, "?follow=true&after=" + position("0"), sse},
		{lines, "?follow=true", lines},
	} {
		api := newTestAPI(t)
		if got := api.openFeed("/api/v1/feed"+c.query, http.Header{"Accept": {c.accept}}).response.Header.Get("Content-Type"); got != c.want {
			t.Errorf("Accept %q and %q give %s, want %s", c.accept, c.query, got, c.want)
		}
	}
	r := newRequest("GET", "/api/v1/feed?follow=false", nil)
	r.Header.Set("Accept", sse)
	newTestAPI(t).do(r).hasError(http.StatusBadRequest, "INVALID_CONFIG", lines)
}

func TestReadersOfTheFeedBeyondTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t)
	first, second := api.openFeed("/api/v1/feed", nil), api.openFeed("/api/v1/feed", nil)
	first.until("heartbeat")
	second.until("heartbeat")
	refused := api.get("/api/v1/feed?after=")
	refused.hasError(http.StatusServiceUnavailable, "UNAVAILABLE", "too many readers")
	if refused.header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
	_ = first.response.Body.Close()
	await.True(t, "a reader that has gone counts no more", func() bool { return api.get("/api/v1/feed?after=").status == http.StatusOK })
}

func TestAFailedQueryOfTheFeedIsAnsweredInTheEnvelope(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t)
	api.feed.Failing.Store(true)
	api.get("/api/v1/feed?after=").hasError(http.StatusInternalServerError, "INTERNAL_ERROR")
	api.logged().hasWords("does not answer")
}

// lengthWriter counts the bytes of a response.
type lengthWriter struct {
	header http.Header
	n      int
}

func (w *lengthWriter) Header() http.Header         { return w.header }
func (w *lengthWriter) WriteHeader(int)             {}
func (w *lengthWriter) Flush()                      {}
func (w *lengthWriter) Write(p []byte) (int, error) { w.n += len(p); return len(p), nil }

// After a restart of a gateway hundreds of readers get the same state.replace of several
// megabytes at once.
func TestReadersOfTheFeedShareTheBytesOfAMessage(t *testing.T) {
	const size, readers, allowed = 8 << 20, 10, 64 << 10
	state := feed.Message{Type: feed.StateReplace, Position: feed.Position{Epoch: "e", Version: 1}, Line: bytes.Repeat([]byte("x"), size)}
	for _, sse := range []bool{true, false} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range readers {
			w := &lengthWriter{header: http.Header{}}
			if err := httpapi.WriteFeed(w, sse, state); err != nil || w.n < size {
				t.Fatalf("%d bytes, %v", w.n, err)
			}
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / readers; each > allowed {
			t.Errorf("each reader takes %d bytes for a message of %d, want at most %d (SSE: %t)", each, size, allowed, sse)
		}
	}
}
