package probe_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/probe"
)

func fine(context.Context) error { return nil }

// answer asks a server and returns what it says.
func answer(t *testing.T, s *probe.Server, path string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, strings.TrimSpace(string(text))
}

func listen(t *testing.T, alive, ready probe.Question) *probe.Server {
	t.Helper()
	s, err := probe.Listen("127.0.0.1:0", alive, ready)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t)
	})
	return s
}

// Section 8.7.
func TestProbes(t *testing.T) {
	s := listen(t, fine, func(context.Context) error { return errors.New("there is no assignment yet") })
	for _, c := range []struct {
		path   string
		status int
		body   string
	}{
		{"/healthz", 200, "ok"},
		{"/readyz", 503, "there is no assignment yet"},
		{"/", 404, "404 page not found"},
		{"/metrics", 404, "404 page not found"},
	} {
		if status, body := answer(t, s, c.path); status != c.status || body != c.body {
			t.Errorf("%s answers %d %q, want %d %q", c.path, status, body, c.status, c.body)
		}
	}
}

func TestAQuestionThatIsNotAnsweredIsAFailure(t *testing.T) {
	s := listen(t, func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}, fine)
	if status, body := answer(t, s, "/healthz"); status != 503 || body != "context deadline exceeded" {
		t.Errorf("it answers %d %q", status, body)
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	s := listen(t, fine, fine)
	if second, err := probe.Listen(s.Addr().String(), fine, fine); err == nil {
		_ = second.Close()
		t.Error("two listen at one port")
	}
}
