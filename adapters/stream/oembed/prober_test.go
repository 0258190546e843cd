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

// ask probes a service made of handler.
func ask(t *testing.T, handler http.HandlerFunc) watch.ProbeResult {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	return oembed.NewAt(server.URL+"/oembed", client).Probe(t.Context(), stream)
}

func TestProbeReadsTheStatus(t *testing.T) {
	gone := watch.ProbeResult{Known: true}
	tests := map[int]watch.ProbeResult{
		200: {Known: true, Exists: true},
		404: gone,
		400: gone,
		401: {}, 403: {}, 402: {}, 410: {}, 429: {}, 204: {}, 304: {}, 500: {}, 502: {}, 503: {},
	}
	for status, want := range tests {
		t.Run(fmt.Sprintf("HTTP %d: known %v, exists %v", status, want.Known, want.Exists), func(t *testing.T) {
			got := ask(t, func(w http.ResponseWriter, r *http.Request) {
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

func TestProbeAsksAsYouTubeExpects(t *testing.T) {
	got := ask(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.Method != http.MethodGet || r.URL.Path != "/oembed" || q.Get("url") != string(stream) || q.Get("format") != "json" || len(q) != 2 {
			t.Errorf("was asked %s %s", r.Method, r.URL)
		}
		_, _ = io.WriteString(w, video)
	})
	if !got.Exists {
		t.Errorf("got %+v", got)
	}
}

func TestProbeBelievesOnlyADescriptionOfAVideo(t *testing.T) {
	for name, body := range map[string]string{
		"a captive portal":   "<html>log in</html>",
		"nothing":            "",
		"no title":           `{"type":"video"}`,
		"a title of no text": `{"title":5}`,
		"a list":             `[{"title":"A"}]`,
		"JSON cut short":     video[:20],
		"too much":           `{"title":"A","more":"` + strings.Repeat("x", oembed.MaxBody) + `"}`,
	} {
		t.Run(name+" is no answer", func(t *testing.T) {
			got := ask(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
			if got.Known || got.Exists || !strings.HasPrefix(got.Detail, "HTTP 200") {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("a body cut off is no answer", func(t *testing.T) {
		got := ask(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, video)
		})
		if got.Known || !strings.Contains(got.Detail, "unexpected EOF") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("an empty title is a title", func(t *testing.T) {
		if got := ask(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"title":""}`) }); !got.Exists {
			t.Errorf("got %+v", got)
		}
	})
}

func TestProbeStaysOnTheHost(t *testing.T) {
	t.Run("a redirect within the host is followed", func(t *testing.T) {
		got := ask(t, func(w http.ResponseWriter, r *http.Request) {
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
	t.Run("one to another host is no answer", func(t *testing.T) {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			t.Error("was asked")
			_, _ = io.WriteString(w, video)
		}))
		defer elsewhere.Close()
		got := ask(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/?secret", http.StatusFound)
		})
		if got.Known || got.Detail != "HTTP 302" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("one to any spelling of any other host is no answer", func(t *testing.T) {
		for _, c := range outboundtest.Cases() {
			for _, scheme := range []string{"http", "https"} {
				asked := 0
				client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
					asked++
					header := http.Header{"Location": {c.URL(scheme, "443")}}
					return &http.Response{StatusCode: http.StatusFound, Header: header, Body: http.NoBody, Request: r}, nil
				})}
				if got := oembed.New(client).Probe(t.Context(), stream); got.Known || asked != 1 {
					t.Errorf("%s: asked %d times, got %+v", c.URL(scheme, "443"), asked, got)
				}
			}
		}
	})
	t.Run("a loop ends", func(t *testing.T) {
		asked := 0
		got := ask(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			http.Redirect(w, r, "/oembed", http.StatusFound)
		})
		if got.Known || asked != oembed.MaxRedirects+1 {
			t.Errorf("asked %d times, got %+v", asked, got)
		}
	})
}

func TestProbeDoesNotWaitForever(t *testing.T) {
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
	t.Run("nor when its caller does not", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := oembed.New(http.DefaultClient).Probe(ctx, stream); got.Known || !strings.Contains(got.Detail, "canceled") {
			t.Errorf("got %+v", got)
		}
	})
}

func TestProbeToldOfAnUnreachableHost(t *testing.T) {
	client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if want := "https://www.youtube.com/oembed?format=json&url=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3Dabcdefghijk"; r.URL.String() != want {
			t.Errorf("was asked %s", r.URL)
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
