package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/probe"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// A port with a tenth of its limits, so that a busy machine accepts all in time, and how many somebody
// holds. within is how soon others are served meanwhile: what is held lasts for 5 s.
const (
	mostOpen = httpapi.MaxConnections / 10
	mostIdle = httpapi.MaxIdlePerAddress / 10
	held     = mostOpen + 100
	within   = 2 * time.Second
)

// callFrom asks for a path with a key, by a new connection from an address, and reports why it was
// not answered in time. Its first tries may come while the server still accepts what others
// have opened; these connections last for 5 s.
func callFrom(t *testing.T, from, server, path, key string) (err error) {
	t.Helper()
	dialer := net.Dialer{Timeout: within, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := http.Client{Timeout: within, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	for deadline := time.Now().Add(2 * within); time.Now().Before(deadline); {
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server+path, http.NoBody))(t)
		r.Header.Set(publicKeyHeader, key)
		var resp *http.Response
		if resp, err = client.Do(r); err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		err = fmt.Errorf("%s: status %d", path, resp.StatusCode)
	}
	return err
}

// open opens connections to a server, from the addresses in turn, and sends the beginning of a request on each.
func open(t *testing.T, server string, n int, begin string, addresses ...string) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, n)
	var opening sync.WaitGroup
	for worker := range 50 {
		opening.Go(func() {
			for i := worker; i < n; i += 50 {
				dialer := net.Dialer{Timeout: time.Minute, LocalAddr: &net.TCPAddr{IP: net.ParseIP(addresses[i%len(addresses)])}}
				conn, err := dialer.DialContext(t.Context(), "tcp", server)
				if err != nil {
					continue // the test shows what others get
				}
				_, _ = io.WriteString(conn, begin)
				conns[i] = conn
			}
		})
	}
	opening.Wait()
	t.Cleanup(func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
	})
	return conns
}

func fifty() (addresses []string) {
	for i := range 50 {
		addresses = append(addresses, fmt.Sprintf("127.0.1.%d", i+1))
	}
	return addresses
}

// Section 12.5.
func TestOthersAreServedWhileSomebodyWithoutAKeyHoldsManyConnections(t *testing.T) {
	const (
		slowHeader = "GET /healthz HTTP/1.1\r\nHost: x\r\n"
		slowBody   = "POST /api/v1/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
		noKey      = "POST /api/v1/monitors HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
	)
	for name, c := range map[string]struct {
		begin     string
		addresses []string
	}{
		"idle connections of one address": {"", []string{"127.0.1.1"}},
		"idle connections of fifty":       {"", fifty()},
		"slow headers":                    {slowHeader, []string{"127.0.1.1"}},
		"slow headers of fifty":           {slowHeader, fifty()},
		"slow bodies":                     {slowBody, []string{"127.0.1.1"}},
		"slow bodies of fifty":            {slowBody, fifty()},
		"slow bodies without a key":       {noKey, []string{"127.0.1.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			handlers := newTestAPI(t).handlers
			public := startServer(t, handlers.Public(), httpapi.ServerConfig{Name: "public", MaxConnections: mostOpen, MaxIdle: mostIdle})
			server := public.Addr().String()
			probes := must.Get(probe.Listen("127.0.0.1:0", func(context.Context) error { return nil }, handlers.Ready, slog.New(slog.DiscardHandler)))(t)
			t.Cleanup(func() { _ = probes.Close() })
			open(t, server, held, c.begin, c.addresses...)
			open(t, probes.Addr().String(), 500, c.begin, c.addresses...)
			for _, path := range []string{"/healthz", "/readyz"} {
				if err := callFrom(t, "127.0.0.1", probes.Addr().String(), path, ""); err != nil {
					t.Errorf("a probe: %v", err)
				}
			}
			for _, from := range []string{"127.0.0.1", c.addresses[0]} {
				for _, path := range []string{"/healthz", "/api/v1/monitors"} {
					if err := callFrom(t, from, server, path, apiKey); err != nil {
						t.Errorf("a request from %s: %v", from, err)
					}
				}
			}
		})
	}
}

// A process that may open few files has fewer connections. Workers and others are served all the same.
func TestAPortHasNoMoreConnectionsThanItMay(t *testing.T) {
	const most = 100
	var log bytes.Buffer
	s := startServer(t, newTestAPI(t).handlers.Internal(), httpapi.ServerConfig{Name: "internal", MaxConnections: most, Log: slog.New(slog.NewTextHandler(&log, nil))})
	conns := open(t, s.Addr().String(), most, "", fifty()...)
	expect.Failure(t, callFrom(t, "127.0.0.1", s.Addr().String(), "/", apiKey), "status 401")
	await.True(t, "an idle connection gives way", func() bool { return slices.ContainsFunc(conns, func(c net.Conn) bool { return !alive(c) }) })
	must.Do(t, s.Shutdown(t.Context()))
	expect.Text(t, "the log", log.String(), "idle connections are closed to make room")
}

// alive reports whether the server has left a connection open.
func alive(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	timeout, is := err.(net.Error) //nolint:errorlint // a deadline is not wrapped
	return is && timeout.Timeout()
}

// readAll fills b from a connection within a minute, and reports whether it could.
func readAll(conn net.Conn, b []byte) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, err := io.ReadFull(conn, b)
	return err == nil
}

func TestTheLongestIdleConnectionOfAnAddressGivesWay(t *testing.T) {
	var log bytes.Buffer
	handlers := newTestAPI(t).handlers
	s := startServer(t, handlers.Public(), httpapi.ServerConfig{Name: "public", MaxIdle: 4, Log: slog.New(slog.NewTextHandler(&log, nil))})
	server := s.Addr().String()
	first := open(t, server, 1, "", "127.0.1.1")[0]
	second := open(t, server, 1, "", "127.0.1.1")[0]
	busy := open(t, server, 1, "GET /api/v1/feed HTTP/1.1\r\nHost: x\r\nX-API-Key: "+apiKey+"\r\n\r\n", "127.0.1.1")[0]
	if begin := make([]byte, 15); !readAll(busy, begin) || string(begin) != "HTTP/1.1 200 OK" {
		t.Fatalf("the feed begins with %q", begin)
	}
	rest := open(t, server, 3, "", "127.0.1.1")
	await.True(t, "the first connection is closed", func() bool { return !alive(first) })
	for i, conn := range append(rest, second) {
		if !alive(conn) {
			t.Errorf("connection %d is closed, want the longest idle one alone", i)
		}
	}
	must.Get(io.WriteString(second, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"))(t)
	_ = second.SetReadDeadline(time.Now().Add(time.Minute))
	resp := must.Get(http.ReadResponse(bufio.NewReader(second), nil))(t)
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	open(t, server, 1, "", "127.0.1.1")
	await.True(t, "the connection that is now the longest idle one is closed", func() bool { return !alive(rest[0]) || !alive(rest[1]) || !alive(rest[2]) })
	if !alive(second) {
		t.Error("the connection that has just been used is closed")
	}
	if !readAll(busy, make([]byte, 1000)) { // heartbeats
		t.Error("the reader of the feed is closed, want it to stay")
	}
	_ = busy.Close()
	must.Do(t, s.Shutdown(t.Context()))
	expect.Text(t, "the log", log.String(), "level=WARN", "127.0.1.1")
}

func TestATrustedProxyMayHoldAnyNumberOfIdleConnections(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.1.1/32")}
	s := startServer(t, newTestAPI(t).handlers.Public(), httpapi.ServerConfig{Name: "public", MaxIdle: 4, TrustedProxies: proxies})
	conns := open(t, s.Addr().String(), 20, "", "127.0.1.1")
	open(t, s.Addr().String(), 20, "", "127.0.1.2")
	must.Do(t, callFrom(t, "127.0.0.1", s.Addr().String(), "/healthz", ""))
	for i, conn := range conns {
		if !alive(conn) {
			t.Errorf("connection %d of the proxy is closed", i)
		}
	}
}
