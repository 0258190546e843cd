package media_test

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestOnlyDirectConnectionsAreChecked(t *testing.T) {
	guard := outbound.New(nil).Control
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "through the proxy")
	})
	proxy, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the proxy's own address is not checked", func(t *testing.T) {
		c := newClient(t, func(c *media.Config) { c.Control, c.Proxy = guard, http.ProxyURL(proxy) })
		body, final, err := c.Get(withTimeout(t), "http://media.example.com/x", 100)
		if err != nil || string(body) != "through the proxy" || final.URL != "http://media.example.com/x" {
			t.Errorf("got %q from %q, %v", body, final.URL, err)
		}
	})
	t.Run("an address that bypasses the proxy is checked", func(t *testing.T) {
		direct := func(r *http.Request) (*url.URL, error) {
			if r.URL.Hostname() == "127.0.0.1" {
				return nil, nil
			}
			return proxy, nil
		}
		_, _, err := newClient(t, func(c *media.Config) { c.Control, c.Proxy = guard, direct }).Get(withTimeout(t), base+secret, 100)
		wantFailure(t, err, watch.FailureNetwork, "not allowed")
	})
}

// The test runs itself again in a subprocess, because net/http and crypto/x509 read
// the environment once per process.
func TestTheProxyAndCertificateVariablesAreHonoured(t *testing.T) {
	if target := os.Getenv("MEDIA_TEST_TARGET"); target != "" {
		c := media.New(media.Config{})
		defer c.Close()
		body, _, err := c.Get(withTimeout(t), target, 100)
		if err != nil || string(body) != "hello" {
			t.Fatalf("got %q, %v", body, err)
		}
		return
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	server := httptest.NewTLSServer(hello)
	defer server.Close()
	tunnel := httptest.NewServer(connectProxy(server.Listener.Addr().String()))
	defer tunnel.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	subprocess := func(env ...string) (string, error) {
		cmd := exec.CommandContext(withTimeout(t), os.Args[0], "-test.run=^TestTheProxyAndCertificateVariablesAreHonoured$")
		cmd.Env = append(os.Environ(), "MEDIA_TEST_TARGET=https://example.com/x", "NO_PROXY=", "no_proxy=")
		cmd.Env = append(cmd.Env, env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := subprocess("HTTPS_PROXY="+tunnel.URL, "https_proxy="+tunnel.URL, "SSL_CERT_FILE="+ca); err != nil {
		t.Errorf("with HTTPS_PROXY and SSL_CERT_FILE: %v\n%s", err, out)
	}
	if out, err := subprocess("HTTPS_PROXY="+tunnel.URL, "https_proxy="+tunnel.URL); err == nil || !strings.Contains(out, "certificate") {
		t.Errorf("an unknown authority was trusted: %v\n%s", err, out)
	}
}

// connectProxy is a proxy that connects every CONNECT to address.
func connectProxy(address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up, err := net.Dial("tcp", address)
		if err != nil || r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		down, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = up.Close()
			return
		}
		_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
		done := make(chan struct{})
		go func() { defer close(done); _, _ = io.Copy(up, down); _ = up.Close() }()
		_, _ = io.Copy(down, up)
		_ = down.Close()
		<-done
	})
}
