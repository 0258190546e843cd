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

func succeed(context.Context) error { return nil }

// get sends a request to a server.
func get(t *testing.T, s *probe.Server, path string) (status int, body string) {
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
	return listenWithLog(t, alive, ready, slog.New(slog.DiscardHandler))
}

func listenWithLog(t *testing.T, alive, ready probe.Check, log *slog.Logger) *probe.Server {
	t.Helper()
	s, err := probe.Listen("127.0.0.1:0", alive, ready, log)
	return closeAtEnd(t, s, err)
}

// Limits that must not be reached, and that must.
const (
	long  = time.Minute
	short = 20 * time.Millisecond
)

func listenWithin(t *testing.T, alive probe.Check, read, check time.Duration) *probe.Server {
	t.Helper()
	s, err := probe.ListenWithin("127.0.0.1:0", alive, succeed, read, check, long, slog.New(slog.DiscardHandler))
	return closeAtEnd(t, s, err)
}

func closeAtEnd(t *testing.T, s *probe.Server, err error) *probe.Server {
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
func TestEveryCheckHasItsPath(t *testing.T) {
	s := listen(t, succeed, func(context.Context) error { return errors.New("there is no assignment yet") })
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
		if status, body := get(t, s, c.path); status != c.status || body != c.body {
			t.Errorf("%s answers %d %q, want %d %q", c.path, status, body, c.status, c.body)
		}
	}
}

func TestACheckThatTakesTooLongIsAFailure(t *testing.T) {
	s := listenWithin(t, func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}, long, short)
	if status, body := get(t, s, "/healthz"); status != 503 || body != "context deadline exceeded" {
		t.Errorf("it answers %d %q", status, body)
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	s := listen(t, succeed, succeed)
	if second, err := probe.Listen(s.Addr().String(), succeed, succeed, slog.New(slog.DiscardHandler)); err == nil {
		_ = second.Close()
		t.Error("two servers listen on one port")
	}
}

// logLines receives the lines of a log.
type logLines chan string

func (l logLines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func (l logLines) expect(t *testing.T, wanted ...string) {
	t.Helper()
	select {
	case line := <-l:
		for _, w := range wanted {
			if !strings.Contains(line, w) {
				t.Errorf("the log says %s, want %s", line, w)
			}
		}
	case <-time.After(time.Minute):
		t.Fatalf("waited for %v", wanted)
	}
}

func newLog() (logLines, *slog.Logger) {
	l := make(logLines, 10)
	return l, slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestALostPortIsLogged(t *testing.T) {
	log, logger := newLog()
	if err := listenWithLog(t, succeed, succeed, logger).CloseListener(); err != nil {
		t.Fatal(err)
	}
	log.expect(t, `"level":"WARN"`, `"msg":"probes are no longer answered, Kubernetes will restart the container"`, `"component":"probe"`, "closed network connection")
}

func TestAClosedServerLogsNothing(t *testing.T) {
	log, logger := newLog()
	if err := listenWithLog(t, succeed, succeed, logger).Close(); err != nil {
		t.Fatal(err)
	}
	if len(log) > 0 {
		t.Errorf("the log says %s", <-log)
	}
}

func TestAPanicOfAProbeIsLoggedAtDebug(t *testing.T) {
	log, logger := newLog()
	s := listenWithLog(t, func(context.Context) error { panic("injected") }, succeed, logger)
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	log.expect(t, `"level":"DEBUG"`, "injected", `"component":"probe"`)
}

// sendPartialRequest sends a request without the empty line at its end.
func sendPartialRequest(t *testing.T, s *probe.Server) net.Conn {
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

// The time in which a request arrives does not count for its check.
func TestASlowRequestIsAnswered(t *testing.T) {
	c := sendPartialRequest(t, listenWithin(t, succeed, long, short))
	time.AfterFunc(2*short, func() { _, _ = io.WriteString(c, "\r\n") })
	if got, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(got), "HTTP/1.0 200 OK") {
		t.Errorf("it answers %q, %v", got, err)
	}
}

func TestAnIncompleteRequestIsClosed(t *testing.T) {
	c := sendPartialRequest(t, listenWithin(t, succeed, short, long))
	if err := c.SetReadDeadline(time.Now().Add(long / 2)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || len(got) > 0 {
		t.Errorf("it answers %q, %v", got, err)
	}
}

// Section 8.7: a probe may take 5 s.
func TestAFailureIsSentWithinTheTimeoutOfAProbe(t *testing.T) {
	if read, check, write := probe.DefaultLimits(); read > 5*time.Second || check > 4*time.Second || write < check+time.Second {
		t.Errorf("a request may take %v, its check %v, its response %v", read, check, write)
	}
}
