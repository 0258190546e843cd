package probe_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/probe"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func succeed(context.Context) error { return nil }

// Limits that must not be reached, and that must.
const (
	long  = time.Minute
	short = 20 * time.Millisecond
)

// listen starts a server with a liveness check and limits, and returns its log.
func listen(t *testing.T, alive probe.Check, read, check time.Duration) (*probe.Server, *logbuffer.Buffer) {
	t.Helper()
	log := &logbuffer.Buffer{}
	notReady := func(context.Context) error { return errors.New("there is no assignment yet") }
	handler := slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})
	s := must.Get(probe.ListenWithin("127.0.0.1:0", alive, notReady, read, check, long, slog.New(handler)))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		goleak.VerifyNone(t)
	})
	return s, log
}

// send begins a request to a server.
func send(t *testing.T, s *probe.Server, request string) net.Conn {
	t.Helper()
	c := must.Get(new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr().String()))(t)
	t.Cleanup(func() { _ = c.Close() })
	must.Get(io.WriteString(c, request))(t)
	return c
}

// expectAnswer reads an answer, which has this status and body.
func expectAnswer(t *testing.T, c net.Conn, status, body string) {
	t.Helper()
	got, err := io.ReadAll(c)
	head, text, _ := strings.Cut(string(got), "\r\n\r\n")
	if err != nil || !strings.HasPrefix(head, "HTTP/1.0 "+status+" ") || strings.TrimSpace(text) != body {
		t.Errorf("it answers %q, %v, want %s %q", got, err, status, body)
	}
}

// Section 8.7.
func TestEveryCheckHasItsPath(t *testing.T) {
	s, log := listen(t, succeed, long, long)
	for path, want := range map[string][2]string{
		"/healthz": {"200", "ok"},
		"/readyz":  {"503", "there is no assignment yet"},
		"/":        {"404", "404 page not found"},
		"/metrics": {"404", "404 page not found"},
	} {
		t.Run(path, func(t *testing.T) { expectAnswer(t, send(t, s, "GET "+path+" HTTP/1.0\r\n\r\n"), want[0], want[1]) })
	}
	if err := s.Close(); err != nil || log.String() != "" {
		t.Errorf("after Close: %v, the log says %s", err, log)
	}
}

func TestACheckThatTakesTooLongIsAFailure(t *testing.T) {
	s, _ := listen(t, func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}, long, short)
	expectAnswer(t, send(t, s, "GET /healthz HTTP/1.0\r\n\r\n"), "503", "context deadline exceeded")
}

func TestAPortInUseIsAnError(t *testing.T) {
	s, _ := listen(t, succeed, long, long)
	if second, err := probe.Listen(s.Addr().String(), succeed, succeed, slog.New(slog.DiscardHandler)); err == nil {
		_ = second.Close()
		t.Error("two servers listen on one port")
	}
}

func TestALostPortIsLogged(t *testing.T) {
	s, log := listen(t, succeed, long, long)
	must.Do(t, s.CloseListener())
	await.True(t, "a warning", func() bool {
		return log.Contains(`"level":"WARN","msg":"probes are no longer answered, Kubernetes will restart the container","component":"probe"`) && log.Contains("closed network connection")
	})
}

func TestAPanicOfAProbeIsLoggedAtDebug(t *testing.T) {
	s, log := listen(t, func(context.Context) error { panic("injected") }, long, long)
	send(t, s, "GET /healthz HTTP/1.0\r\n\r\n")
	await.True(t, "a line", func() bool {
		return log.Contains(`"level":"DEBUG"`) && log.Contains("injected") && log.Contains(`"component":"probe"`)
	})
}

// The time in which a request arrives does not count for its check.
func TestASlowRequestIsAnswered(t *testing.T) {
	s, _ := listen(t, succeed, long, short)
	c := send(t, s, "GET /healthz HTTP/1.0\r\n")
	time.AfterFunc(2*short, func() { _, _ = io.WriteString(c, "\r\n") })
	expectAnswer(t, c, "200", "ok")
}

func TestAnIncompleteRequestIsClosed(t *testing.T) {
	s, _ := listen(t, succeed, short, long)
	c := send(t, s, "GET /healthz HTTP/1.0\r\n")
	must.Do(t, c.SetReadDeadline(time.Now().Add(long/2)))
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
