package webhook_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
)

// Decision O6.
func TestTLSIs12OrNewerAndVerified(t *testing.T) {
	secure := func(t *testing.T, oldest, newest uint16) (*httptest.Server, *x509.CertPool) {
		t.Helper()
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		s.TLS = &tls.Config{MinVersion: oldest, MaxVersion: newest}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		return s, roots
	}
	for _, c := range []struct {
		name    string
		version uint16
		err     string
	}{
		{"TLS 1.0 is refused", tls.VersionTLS10, "protocol version"},
		{"TLS 1.1 is refused", tls.VersionTLS11, "protocol version"},
		{"TLS 1.2 is accepted", tls.VersionTLS12, ""},
		{"TLS 1.3 is accepted", tls.VersionTLS13, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			receiver, roots := secure(t, c.version, c.version)
			a := send(t.Context(), sender(t, local(t), webhook.Config{RootCAs: roots}), receiver.URL)
			if a.Accepted() != (c.err == "") || !strings.Contains(a.Error, c.err) {
				t.Errorf("answer %+v, want error %q", a, c.err)
			}
		})
	}
	t.Run("a certificate of an unknown authority is refused", func(t *testing.T) {
		receiver, _ := secure(t, tls.VersionTLS12, tls.VersionTLS13)
		a := send(t.Context(), sender(t, local(t), webhook.Config{}), receiver.URL)
		if !strings.Contains(a.Error, "certificate") {
			t.Errorf("answer %+v", a)
		}
	})
	t.Run("an unfinished handshake ends at the timeout", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		a := send(t.Context(), sender(t, local(t), webhook.Config{Timeout: shortTimeout}), "https://"+l.Addr().String())
		if a.Error != "no answer within 300ms" {
			t.Errorf("answer %+v", a)
		}
	})
}
