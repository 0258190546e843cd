package youtube_test

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

	"github.com/stream-monitor/stream-monitor/adapters/stream/youtube"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ worker.Prober = (*youtube.Prober)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	stream = monitor.StreamURL("https://www.youtube.com/watch?v=abcdefghijk")
	video  = `{"title":"A Title","author_name":"X","type":"video","version":"1.0","provider_name":"YouTube"}`
)

// probe probes a server with handler.
func probe(t *testing.T, handler http.HandlerFunc) watch.ProbeResult {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	return youtube.NewAt(server.URL+"/oembed", client).Probe(t.Context(), stream)
}

func TestOnlyADescriptionOfAVideoProvesThatItExists(t *testing.T) {
	type outcome struct{ known, exists bool }
	exists, gone, nothing := outcome{true, true}, outcome{true, false}, outcome{}
	for name, c := range map[string]struct {
		status int
		body   string
		want   outcome
		detail string // after the status
	}{
		"a video":            {200, video, exists, ""},
		"an empty title":     {200, `{"title":""}`, exists, ""},
		"a captive portal":   {200, "<html>log in</html>", nothing, ""},
		"no body":            {200, "", nothing, ""},
		"no title":           {200, `{"type":"video"}`, nothing, ""},
		"a title of no text": {200, `{"title":5}`, nothing, ""},
		"a list":             {200, `[{"title":"A"}]`, nothing, ""},
		"JSON cut short":     {200, video[:20], nothing, ""},
		"too much":           {200, `{"title":"A","more":"` + strings.Repeat("x", youtube.MaxBody) + `"}`, nothing, "more than"},
		"a body cut off":     {200, video + "cut off", nothing, "unexpected EOF"},
		"400":                {400, "", gone, ""},
		"404":                {404, "", gone, ""},
		"401":                {401, "", nothing, ""}, "403": {403, "", nothing, ""}, "402": {402, "", nothing, ""}, "410": {410, "", nothing, ""}, "429": {429, "", nothing, ""},
		"204": {204, "", nothing, ""}, "304": {304, "", nothing, ""}, "500": {500, "", nothing, ""}, "502": {502, "", nothing, ""}, "503": {503, "", nothing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := probe(t, func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				if r.Method != http.MethodGet || r.URL.Path != "/oembed" || q.Get("url") != string(stream) || q.Get("format") != "json" || len(q) != 2 {
					t.Errorf("request %s %s", r.Method, r.URL)
				}
				if strings.HasSuffix(c.body, "cut off") {
					w.Header().Set("Content-Length", "1000")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			if (outcome{got.Known, got.Exists}) != c.want || !strings.Contains(got.Detail, fmt.Sprintf("HTTP %d", c.status)) || !strings.Contains(got.Detail, c.detail) {
				t.Errorf("got %+v", got)
			}
		})
	}
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
		if got.Known || got.Detail != "oEmbed: HTTP 302" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a loop ends", func(t *testing.T) {
		requests := 0
		got := probe(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			http.Redirect(w, r, "/oembed", http.StatusFound)
		})
		if got.Known || requests != youtube.MaxRedirects+1 {
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
		got := youtube.NewProber(client).Probe(t.Context(), stream)
		if got.Known || !strings.Contains(got.Detail, "deadline") || time.Since(began) != youtube.Timeout {
			t.Errorf("after %v got %+v", time.Since(began), got)
		}
	})
	t.Run("a cancelled probe ends at once", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := youtube.NewProber(http.DefaultClient).Probe(ctx, stream); got.Known || !strings.Contains(got.Detail, "canceled") {
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
	got := youtube.NewProber(client).Probe(t.Context(), stream)
	if got.Known || got.Exists || got.Detail != "oEmbed not reached: lookup www.youtube.com: no such host" {
		t.Errorf("got %+v", got)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
