package media_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

var _ worker.SegmentFetcher = (*media.Client)(nil)

// secret is part of every requested URL; no failure may show it.
const secret = "/videoplayback/sig/AOq0QJ8w?key=s3cr3t"

// testTimeout limits each call; the limits under test are far shorter.
const testTimeout = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// allowAll is the Control of clients that connect to the test's own servers.
func allowAll(string, string, syscall.RawConn) error { return nil }

// newClient returns a client without a proxy, and closes it after the test.
func newClient(t *testing.T, change func(*media.Config)) *media.Client {
	t.Helper()
	config := media.Config{Control: allowAll, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}
	if change != nil {
		change(&config)
	}
	c := media.New(config)
	t.Cleanup(c.Close)
	return c
}

// serve starts a server. A handler that waits has to end with its request.
func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}

// with returns the handler of a fault.
func with(f httpfault.Fault) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { f(w, r, nil) }
}

func withTimeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// fetch reads a whole segment. It returns the error of any step.
func fetch(t *testing.T, c *media.Client, s watch.Segment) ([]byte, error) {
	t.Helper()
	ctx := withTimeout(t)
	body, err := c.FetchSegment(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := body.Close(); err != nil {
			t.Errorf("closing the body: %v", err)
		}
	}()
	all, err := io.ReadAll(body)
	if ctx.Err() != nil {
		t.Fatal("the fetch did not end by itself")
	}
	return all, err
}

// wantFailure checks the kind of err, and that it shows no part of the secret.
func wantFailure(t *testing.T, err error, kind watch.FailureKind, detail string) {
	t.Helper()
	var failure *watch.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a failure %s", err, kind)
	}
	if failure.Kind != kind || !strings.Contains(failure.Detail, detail) {
		t.Errorf("got %v, want %s with %q", err, kind, detail)
	}
	for _, hidden := range []string{"s3cr3t", "AOq0QJ8w", "videoplayback", "\n"} {
		if strings.Contains(failure.Detail, hidden) {
			t.Errorf("the detail %q shows %q", failure.Detail, hidden)
		}
	}
}

// wantFetchFailure checks how the fetch of a segment fails.
func wantFetchFailure(t *testing.T, c *media.Client, s watch.Segment, kind watch.FailureKind, detail string) {
	t.Helper()
	_, err := fetch(t, c, s)
	wantFailure(t, err, kind, detail)
}

func TestGetReturnsTheBodyAndItsURL(t *testing.T) {
	t.Run("returns the body and the URL after redirects", func(t *testing.T) {
		var referer, agent string
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/target" {
				http.Redirect(w, r, "/target", http.StatusFound)
				return
			}
			referer, agent = r.Referer(), r.UserAgent()
			_, _ = io.WriteString(w, "#EXTM3U")
		})
		body, final, err := newClient(t, nil).Get(withTimeout(t), base+secret, 100)
		if err != nil || string(body) != "#EXTM3U" || final.URL != base+"/target" {
			t.Errorf("got %q from %q, %v", body, final.URL, err)
		}
		if referer != "" || agent != "stream-monitor" {
			t.Errorf("sent Referer %q, User-Agent %q", referer, agent)
		}
	})
	for _, announced := range []bool{true, false} {
		t.Run(fmt.Sprintf("accepts as many bytes as the limit, announced: %v", announced), func(t *testing.T) {
			base, c := serve(t, sized(announced))+"/10", newClient(t, nil)
			if body, _, err := c.Get(withTimeout(t), base, 10); err != nil || len(body) != 10 {
				t.Errorf("a body at the limit: got %q, %v", body, err)
			}
			_, _, err := c.Get(withTimeout(t), base, 9)
			wantFailure(t, err, watch.FailureTooLarge, "127.0.0.1")
		})
	}
}

func TestRedirectsAreFollowedUpToTheLimit(t *testing.T) {
	hops := func(w http.ResponseWriter, r *http.Request) {
		var left int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &left)
		if left != 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d?key=s3cr3t", left-1), http.StatusFound)
		}
	}
	base, c := serve(t, hops), newClient(t, nil)
	if _, _, err := c.Get(withTimeout(t), fmt.Sprintf("%s/%d", base, media.MaxRedirects), 1); err != nil {
		t.Errorf("with the largest number of redirects: %v", err)
	}
	_, _, err := c.Get(withTimeout(t), fmt.Sprintf("%s/%d", base, media.MaxRedirects+1), 1)
	wantFailure(t, err, watch.FailureNetwork, "more redirects")
	_, _, err = c.Get(withTimeout(t), base+"/-1", 1)
	wantFailure(t, err, watch.FailureNetwork, "more redirects")

	for name, location := range map[string]string{
		"another scheme":               "file:///etc/passwd",
		"an invalid URL with a secret": "http://[::1%zz/videoplayback?key=s3cr3t",
	} {
		t.Run("to "+name+" are a network failure", func(t *testing.T) {
			_, _, err := newClient(t, nil).Get(withTimeout(t), rawServer(t, "HTTP/1.1 302 Found\r\nLocation: "+location+"\r\n\r\n", false)+secret, 1)
			wantFailure(t, err, watch.FailureNetwork, "")
		})
	}
}

func TestEachStatusHasItsFailureKind(t *testing.T) {
	for status, kind := range map[int]watch.FailureKind{
		204: watch.FailureNetwork, 206: watch.FailureNetwork, 302: watch.FailureNetwork, 304: watch.FailureNetwork,
		400: watch.FailureNetwork, 401: watch.FailureRefused, 403: watch.FailureRefused, 404: watch.FailureExpired,
		405: watch.FailureNetwork, 410: watch.FailureExpired, 416: watch.FailureTruncated, 429: watch.FailureRateLimited,
		500: watch.FailureNetwork, 503: watch.FailureNetwork,
	} {
		t.Run(fmt.Sprintf("%d is %s", status, kind), func(t *testing.T) {
			base := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			c := newClient(t, nil)
			_, _, err := c.Get(withTimeout(t), base+secret, 1)
			wantFailure(t, err, kind, fmt.Sprintf("answered %d", status))
			wantFetchFailure(t, c, watch.Segment{URI: base + secret}, kind, fmt.Sprintf("answered %d", status))
		})
	}
}

func TestStreamsThatShareAClientShareItsConnections(t *testing.T) {
	const streams = 8
	var connections atomic.Int64
	var arrived sync.WaitGroup
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait() // each request needs a connection of its own
		_, _ = io.WriteString(w, "a playlist")
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := newClient(t, func(c *media.Config) { c.IdleConns = 2 * streams })
	for range 3 {
		arrived.Add(streams)
		var reading sync.WaitGroup
		for range streams {
			reading.Go(func() {
				if _, _, err := c.Get(withTimeout(t), server.URL, 100); err != nil {
					t.Error(err)
				}
			})
		}
		reading.Wait()
	}
	if n := connections.Load(); n > streams+2 { // one may be closed before the pool has it back
		t.Errorf("%d requests at a time, three times, made %d connections", streams, n)
	}
}

func TestAnAnswerSaysTheTimeOfItsServer(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		date, age string
		want      time.Time
	}{
		"by its Date":            {"Sat, 21 Nov 2026 12:00:00 GMT", "", noon},
		"by its Date and Age":    {"Sat, 21 Nov 2026 12:00:00 GMT", "25", noon.Add(25 * time.Second)},
		"not by an invalid Date": {"yesterday", "", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", c.date)
				w.Header().Set("Age", c.age)
				httpfault.Text("#EXTM3U")(w, r, nil)
			})
			_, got, err := newClient(t, nil).Get(withTimeout(t), base, 100)
			head, headErr := newClient(t, nil).Head(withTimeout(t), base)
			if err != nil || headErr != nil || !got.Time.Equal(c.want) || !head.Time.Equal(c.want) {
				t.Errorf("got %v and %v, %v, %v", got.Time, head.Time, err, headErr)
			}
		})
	}
	t.Run("and is asked only where requests may go", func(t *testing.T) {
		base := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
		if _, err := newClient(t, func(c *media.Config) { c.Control = outbound.New(nil).Control }).Head(withTimeout(t), base); err == nil {
			t.Error("an internal address was asked for its time")
		}
	})
}

// The proxy resolves names itself, so it gets every name, but no internal address.
func TestAProxyIsAskedForNamesAndPublicAddressesOnly(t *testing.T) {
	requests := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer proxy.Close()
	at := must.Get(url.Parse(proxy.URL))(t)
	c := newClient(t, func(c *media.Config) { c.Control, c.Proxy = nil, http.ProxyURL(at) })
	for _, k := range outboundtest.Cases() {
		t.Run(k.Name, func(t *testing.T) {
			requests = 0
			want := 0
			if u, err := url.Parse(k.URL("http", "80")); err == nil && (k.Verdict == outboundtest.Allowed || k.NeedsLookup) {
				if host, _ := outbound.ParseHost(u.Hostname()); !host.IsInternal() {
					want = 1
				}
			}
			_, _, err := c.Get(withTimeout(t), k.URL("http", "80"), 100)
			if requests != want || (err == nil) != (want == 1) {
				t.Errorf("the proxy got %d requests, want %d: %v", requests, want, err)
			}
		})
	}
	// Only the proxy looks up names, so those that no public host has are refused before.
	for _, host := range []string{"db", "DB.", "metadata.google.internal", "printer.local", "api.default.svc.cluster.local", "nas.lan", "x.home.arpa", "wiki.corp", "x.intranet", "ｄｂ"} {
		requests = 0
		if _, _, err := c.Get(withTimeout(t), "http://"+host+"/", 100); err == nil || requests > 0 {
			t.Errorf("%s: the proxy was asked, error %v", host, err)
		}
	}
	if _, _, err := c.Get(withTimeout(t), "http://media.example.com/", 100); err != nil || requests != 1 {
		t.Errorf("%d requests, %v", requests, err)
	}
}
