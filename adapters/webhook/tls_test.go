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
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// Decision O6.
func TestTLSIs12OrNewerAndVerified(t *testing.T) {
	for _, c := range []struct {
		name    string
		version uint16
		trusted bool
		err     string
	}{
		{"TLS 1.1 is refused", tls.VersionTLS11, true, "protocol version"},
		{"TLS 1.2 is accepted", tls.VersionTLS12, true, ""},
		{"TLS 1.3 is accepted", tls.VersionTLS13, true, ""},
		{"a certificate of an unknown authority is refused", tls.VersionTLS13, false, "certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			receiver.TLS = &tls.Config{MinVersion: c.version, MaxVersion: c.version}
			receiver.Config.ErrorLog = log.New(io.Discard, "", 0)
			receiver.StartTLS()
			t.Cleanup(receiver.Close)
			roots := x509.NewCertPool()
			if c.trusted {
				roots.AddCert(receiver.Certificate())
			}
			a := send(t.Context(), sender(t, local(t), webhook.Config{RootCAs: roots}), receiver.URL)
			if a.Accepted() != (c.err == "") || !strings.Contains(a.Error, c.err) {
				t.Errorf("answer %+v, want error %q", a, c.err)
			}
		})
	}
	t.Run("an unfinished handshake ends at the timeout", func(t *testing.T) {
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer l.Close()
		a := send(t.Context(), sender(t, local(t), webhook.Config{Timeout: shortTimeout}), "https://"+l.Addr().String())
		if a.Error != "no answer within 300ms" {
			t.Errorf("answer %+v", a)
		}
	})
}
