package probe_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

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

func listen(t *testing.T, alive, ready probe.Check) *probe.Server {
	t.Helper()
	return listenAndSay(t, alive, ready, slog.New(slog.DiscardHandler))
}

func listenAndSay(t *testing.T, alive, ready probe.Check, log *slog.Logger) *probe.Server {
	t.Helper()
	s, err := probe.Listen("127.0.0.1:0", alive, ready, log)
	return closing(t, s, err)
}

// Limits of what must not be over, and of what must.
const (
	long  = time.Minute
	short = 20 * time.Millisecond
)

func listenWithin(t *testing.T, alive probe.Check, read, ask time.Duration) *probe.Server {
	t.Helper()
	s, err := probe.ListenWithin("127.0.0.1:0", alive, fine, read, ask, long, slog.New(slog.DiscardHandler))
	return closing(t, s, err)
}

func closing(t *testing.T, s *probe.Server, err error) *probe.Server {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
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
	s := listenWithin(t, func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}, long, short)
	if status, body := answer(t, s, "/healthz"); status != 503 || body != "context deadline exceeded" {
		t.Errorf("it answers %d %q", status, body)
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	s := listen(t, fine, fine)
	if second, err := probe.Listen(s.Addr().String(), fine, fine, slog.New(slog.DiscardHandler)); err == nil {
		_ = second.Close()
		t.Error("two listen at one port")
	}
}

// lines is a log to read.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func (l lines) expect(t *testing.T, wanted ...string) {
	t.Helper()
	select {
	case line := <-l:
		for _, w := range wanted {
			if !strings.Contains(line, w) {
				t.Errorf("logged was %s, want %s", line, w)
			}
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("waited for %v", wanted)
	}
}

func said() (lines, *slog.Logger) {
	l := make(lines, 10)
	return l, slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestAPortThatIsLostIsSaid(t *testing.T) {
	log, logger := said()
	if err := listenAndSay(t, fine, fine, logger).Lose(); err != nil {
		t.Fatal(err)
	}
	log.expect(t, `"level":"WARN"`, `"msg":"probes are no longer answered, Kubernetes will restart the container"`, `"component":"probe"`, "closed network connection")
}

func TestAServerThatIsClosedSaysNothing(t *testing.T) {
	log, logger := said()
	if err := listenAndSay(t, fine, fine, logger).Close(); err != nil {
		t.Fatal(err)
	}
	if len(log) > 0 {
		t.Errorf("logged was %s", <-log)
	}
}

func TestWhatASingleProbeDoesIsSaidAtDebug(t *testing.T) {
	log, logger := said()
	s := listenAndSay(t, func(context.Context) error { panic("nobody knows") }, fine, logger)
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	log.expect(t, `"level":"DEBUG"`, "nobody knows", `"component":"probe"`)
}

// begin opens a connection and sends all of a request but its end.
func begin(t *testing.T, s *probe.Server) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.0\r\n"); err != nil {
		t.Fatal(err)
	}
	return c
}

// How long a request takes to come is no part of the time for its question.
func TestARequestThatComesSlowlyIsAnswered(t *testing.T) {
	c := begin(t, listenWithin(t, fine, long, short))
	time.AfterFunc(2*short, func() { _, _ = io.WriteString(c, "\r\n") })
	if got, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(got), "HTTP/1.0 200 OK") {
		t.Errorf("it answers %q, %v", got, err)
	}
}

func TestARequestThatDoesNotComeIsGivenUp(t *testing.T) {
	c := begin(t, listenWithin(t, fine, short, long))
	if err := c.SetReadDeadline(time.Now().Add(long / 2)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || len(got) > 0 {
		t.Errorf("it answers %q, %v", got, err)
	}
}

// Section 8.7: a probe may take 5 s.
func TestAFailureIsToldWithinTheTimeOfAProbe(t *testing.T) {
	if read, ask, write := probe.Usual(); read > 5*time.Second || ask > 4*time.Second || write < ask+time.Second {
		t.Errorf("a request may take %v, its question %v, its answer %v", read, ask, write)
	}
}
