package httpapi_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/test/harness/certificate"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// verifyNoLeaks fails the test if a goroutine outlives it and its servers.
func verifyNoLeaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		// net/http waits half a second for a client to read the response to an unread body.
		goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
	})
}

// startServer starts a server that ends with the test.
func startServer(t *testing.T, handler http.Handler, cfg httpapi.ServerConfig) *httpapi.Server {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := must.Get(httpapi.Listen(handler, cfg))(t)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		must.Do(t, errors.Join(s.Shutdown(ctx), <-ended))
	})
	return s
}

func TestAServerWithACertificateServesTLS(t *testing.T) {
	verifyNoLeaks(t)
	certFile, keyFile, roots := certificate.New(t, time.Now().Add(time.Hour), "127.0.0.1")
	s := startServer(t, newTestAPI(t).handlers.Public(), httpapi.ServerConfig{Name: "public", CertFile: certFile, KeyFile: keyFile})
	for version, accepted := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		t.Run(fmt.Sprintf("accepts %s: %t", tls.VersionName(version), accepted), func(t *testing.T) {
			conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: roots, MinVersion: version, MaxVersion: version})
			if err == nil {
				conn.Close()
			}
			if accepted != (err == nil) || err != nil && !strings.Contains(err.Error(), "protocol version") {
				t.Errorf("error is %v", err)
			}
		})
	}
	t.Run("answers", func(t *testing.T) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
		defer client.CloseIdleConnections()
		resp := must.Get(client.Get("https://" + s.Addr().String() + "/healthz"))(t)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("status is %d", resp.StatusCode)
		}
	})
	for name, cfg := range map[string]httpapi.ServerConfig{
		"a certificate without its key":    {CertFile: certFile},
		"a key without its certificate":    {KeyFile: keyFile},
		"a missing file":                   {CertFile: certFile + "x", KeyFile: keyFile},
		"a key instead of the certificate": {CertFile: keyFile, KeyFile: keyFile},
		"an invalid address":               {Addr: "nowhere:port"},
	} {
		t.Run("does not start with "+name, func(t *testing.T) {
			if s, err := httpapi.Listen(http.NotFoundHandler(), cfg); err == nil {
				_ = s.Shutdown(context.Background())
				t.Error("no error")
			}
		})
	}
}

func TestAServerWithoutACertificateLogsIt(t *testing.T) {
	verifyNoLeaks(t)
	var log bytes.Buffer
	s := must.Get(httpapi.Listen(http.NotFoundHandler(), httpapi.ServerConfig{Addr: "127.0.0.1:0", Log: slog.New(slog.NewTextHandler(&log, nil))}))(t)
	must.Do(t, s.Shutdown(context.Background()))
	if err := s.Serve(); err != nil { // it ends at once
		t.Fatal(err)
	}
	expect.Text(t, "the log", log.String(), "without TLS")
	if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("the port is still open")
	}
}

func TestADrainingServerClosesEachConnectionAfterItsResponse(t *testing.T) {
	verifyNoLeaks(t)
	s := startServer(t, newTestAPI(t).handlers.Public(), httpapi.ServerConfig{Name: "public"})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, draining := range []bool{false, true, true} {
		if draining {
			s.Drain()
		}
		resp := must.Get(client.Get("http://" + s.Addr().String() + "/healthz"))(t)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Close != draining {
			t.Errorf("draining %v: the status is %d, the connection ends: %v", draining, resp.StatusCode, resp.Close)
		}
	}
}

func TestAShutdownWaitsForRequestsInProgress(t *testing.T) {
	verifyNoLeaks(t)
	arrived, finish := make(chan struct{}), make(chan struct{})
	s := must.Get(httpapi.Listen(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-finish
		io.WriteString(w, "done")
	}), httpapi.ServerConfig{Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)}))(t)
	served, shut := make(chan error, 1), make(chan error, 1)
	go func() { served <- s.Serve() }()
	conn := open(t, s.Addr().String(), 1, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "127.0.0.1")[0]
	<-arrived
	go func() { shut <- s.Shutdown(context.Background()) }()
	if err := <-served; err != nil { // listening has ended, the request has not
		t.Fatal(err)
	}
	close(finish)
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if got, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(got), "done") {
		t.Errorf("the request in progress got %q, %v", got, err)
	}
	must.Do(t, <-shut)
}

func TestAServerAnswersEveryErrorInTheEnvelope(t *testing.T) {
	verifyNoLeaks(t)
	s := startServer(t, newTestAPI(t).handlers.Public(), httpapi.ServerConfig{Name: "public"})
	for name, request := range map[string]string{
		"OPTIONS of everything":        "OPTIONS * HTTP/1.1\r\nHost: x\r\nX-API-Key: " + apiKey + "\r\n\r\n",
		"a body of unknown length":     "POST /api/v1/monitors HTTP/1.1\r\nHost: x\r\nX-API-Key: " + apiKey + "\r\nTransfer-Encoding: chunked\r\n\r\n11000\r\n" + strings.Repeat(" ", 0x11000) + "\r\n0\r\n\r\n",
		"a body announced as too long": "POST /api/v1/monitors HTTP/1.1\r\nHost: x\r\nX-API-Key: " + apiKey + "\r\nContent-Length: 99999999\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn := must.Get(net.Dial("tcp", s.Addr().String()))(t)
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			must.Get(io.WriteString(conn, request))(t)
			answer := make([]byte, 4096)
			n, err := conn.Read(answer)
			if err != nil || !strings.Contains(string(answer[:n]), `{"error":{"code":"`) {
				t.Errorf("the answer is %s, %v", answer[:n], err)
			}
		})
	}
}

func TestARenewedCertificateIsUsedWithoutARestart(t *testing.T) {
	certFile, keyFile, _ := certificate.New(t, time.Now().Add(time.Hour), "127.0.0.1")
	newCert, newKey, _ := certificate.New(t, time.Now().Add(time.Hour), "127.0.0.1")
	put := func(file, from string) {
		raw := []byte("no certificate")
		if from != "" {
			raw = must.Get(os.ReadFile(from))(t)
		}
		must.Do(t, os.WriteFile(file, raw, 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		get := must.Get(httpapi.LoadCertificate(certFile, keyFile, slog.New(slog.NewTextHandler(&log, nil))))(t)
		first := get()
		put(certFile, newCert)
		if get() != first {
			t.Error("the files are read at every connection")
		}
		time.Sleep(10 * time.Second)
		if get() != first {
			t.Error("a new certificate is used without its key")
		}
		put(keyFile, newKey)
		time.Sleep(10 * time.Second)
		second := get()
		if second == first {
			t.Error("the new certificate is not used")
		}
		put(certFile, "")
		for range 3 {
			time.Sleep(10 * time.Second)
			if get() != second {
				t.Error("an invalid file has replaced the certificate")
			}
		}
		if n := strings.Count(log.String(), "cannot be used"); n != 2 {
			t.Errorf("%d warnings, want one for each invalid state:\n%s", n, &log)
		}
	})
}
