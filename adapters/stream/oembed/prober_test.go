package oembed_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/oembed"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ worker.Prober = (*oembed.Prober)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	stream = monitor.StreamURL("https://www.youtube.com/watch?v=abcdefghijk")
	video  = `{"title":"A Title","author_name":"X","type":"video","version":"1.0","provider_name":"YouTube"}`
)

// probe probes a server with handler.
func probe(t *testing.T, handler http.HandlerFunc) watch.OEmbedResult {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	return oembed.NewAt(server.URL+"/oembed", client).Probe(t.Context(), stream)
}

func TestTheStatusDecides(t *testing.T) {
	gone := watch.OEmbedResult{Known: true}
	tests := map[int]watch.OEmbedResult{
		200: {Known: true, Exists: true},
		404: gone,
		400: gone,
		401: {}, 403: {}, 402: {}, 410: {}, 429: {}, 204: {}, 304: {}, 500: {}, 502: {}, 503: {},
	}
	for status, want := range tests {
		t.Run(fmt.Sprintf("HTTP %d: known %v, exists %v", status, want.Known, want.Exists), func(t *testing.T) {
			got := probe(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(status)
				if status == 200 {
					_, _ = io.WriteString(w, video)
				}
			})
			if got.Known != want.Known || got.Exists != want.Exists || got.Detail != fmt.Sprintf("HTTP %d", status) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTheRequestIsAsYouTubeExpects(t *testing.T) {
	got := probe(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.Method != http.MethodGet || r.URL.Path != "/oembed" || q.Get("url") != string(stream) || q.Get("format") != "json" || len(q) != 2 {
			t.Errorf("request %s %s", r.Method, r.URL)
		}
		_, _ = io.WriteString(w, video)
	})
	if !got.Exists {
		t.Errorf("got %+v", got)
	}
}

func TestOnlyADescriptionOfAVideoProvesThatItExists(t *testing.T) {
	for name, body := range map[string]string{
		"a captive portal":   "<html>log in</html>",
		"nothing":            "",
		"no title":           `{"type":"video"}`,
		"a title of no text": `{"title":5}`,
		"a list":             `[{"title":"A"}]`,
		"JSON cut short":     video[:20],
		"too much":           `{"title":"A","more":"` + strings.Repeat("x", oembed.MaxBody) + `"}`,
	} {
		t.Run(name+" proves nothing", func(t *testing.T) {
			got := probe(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
			if got.Known || got.Exists || !strings.HasPrefix(got.Detail, "HTTP 200") {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("a body cut off proves nothing", func(t *testing.T) {
		got := probe(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, video)
		})
		if got.Known || !strings.Contains(got.Detail, "unexpected EOF") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("an empty title is a title", func(t *testing.T) {
		if got := probe(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"title":""}`) }); !got.Exists {
			t.Errorf("got %+v", got)
		}
	})
}

func TestARedirectToAnotherHostIsNotFollowed(t *testing.T) {
	t.Run("a redirect within the host is followed", func(t *testing.T) {
		got := probe(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/oembed" {
				http.Redirect(w, r, "/oembed2", http.StatusFound)
				return
			}
			_, _ = io.WriteString(w, video)
		})
		if !got.Exists {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a redirect to another host proves nothing", func(t *testing.T) {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			t.Error("the other host got a request")
			_, _ = io.WriteString(w, video)
		}))
		defer elsewhere.Close()
		got := probe(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/?secret", http.StatusFound)
		})
		if got.Known || got.Detail != "HTTP 302" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a redirect to any spelling of another host proves nothing", func(t *testing.T) {
		for _, c := range outboundtest.Cases() {
			for _, scheme := range []string{"http", "https"} {
				requests := 0
				client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
					requests++
					header := http.Header{"Location": {c.URL(scheme, "443")}}
					return &http.Response{StatusCode: http.StatusFound, Header: header, Body: http.NoBody, Request: r}, nil
				})}
				if got := oembed.New(client).Probe(t.Context(), stream); got.Known || requests != 1 {
					t.Errorf("%s: %d requests, got %+v", c.URL(scheme, "443"), requests, got)
				}
			}
		}
	})
	t.Run("a loop ends", func(t *testing.T) {
		requests := 0
		got := probe(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			http.Redirect(w, r, "/oembed", http.StatusFound)
		})
		if got.Known || requests != oembed.MaxRedirects+1 {
			t.Errorf("%d requests, got %+v", requests, got)
		}
	})
}

func TestAProbeEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		began := time.Now()
		got := oembed.New(client).Probe(t.Context(), stream)
		if got.Known || !strings.Contains(got.Detail, "deadline") || time.Since(began) != oembed.Timeout {
			t.Errorf("after %v got %+v", time.Since(began), got)
		}
	})
	t.Run("a cancelled probe ends at once", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := oembed.New(http.DefaultClient).Probe(ctx, stream); got.Known || !strings.Contains(got.Detail, "canceled") {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAnUnreachableHostIsNamedInTheDetail(t *testing.T) {
	client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if want := "https://www.youtube.com/oembed?format=json&url=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3Dabcdefghijk"; r.URL.String() != want {
			t.Errorf("request for %s", r.URL)
		}
		return nil, &net.DNSError{Err: "no such host", Name: "www.youtube.com", IsNotFound: true}
	})}
	got := oembed.New(client).Probe(t.Context(), stream)
	if got.Known || got.Exists || got.Detail != "oEmbed not reached: lookup www.youtube.com: no such host" {
		t.Errorf("got %+v", got)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
