package config

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/certificate"
)

// makeCertificate makes a self-signed certificate for names and addresses.
func makeCertificate(t *testing.T, until time.Time, names ...string) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile, _ = certificate.New(t, until, names...)
	return certFile, keyFile
}

func TestWorkersGetAURLThatReachesTheGateway(t *testing.T) {
	for name, c := range map[string]struct {
		listen, bound, plain, secure string
	}{
		"everywhere":             {":8081", "[::]:8081", "http://127.0.0.1:8081", "https://localhost:8081"},
		"everywhere, by IPv4":    {"0.0.0.0:8081", "0.0.0.0:8081", "http://127.0.0.1:8081", "https://localhost:8081"},
		"at one address":         {"127.0.0.2:0", "127.0.0.2:34567", "http://127.0.0.2:34567", "https://127.0.0.2:34567"},
		"at one IPv6 address":    {"[fd00::2]:8081", "[fd00::2]:8081", "http://[fd00::2]:8081", "https://[fd00::2]:8081"},
		"at a link's address":    {"[fe80::2%eth0]:8081", "[fe80::2%eth0]:8081", "http://[fe80::2%25eth0]:8081", "https://[fe80::2%25eth0]:8081"},
		"where a name points to": {"gw.example:8081", "10.0.0.7:8081", "http://10.0.0.7:8081", "https://gw.example:8081"},
	} {
		t.Run(name, func(t *testing.T) {
			bound, err := net.ResolveTCPAddr("tcp", c.bound)
			if err != nil {
				t.Fatal(err)
			}
			for file, want := range map[string]string{"": c.plain, "cert.pem": c.secure} {
				serve := Serve{InternalListenAddr: c.listen, TLSCertFile: file}
				if got, err := serve.WorkersURL(bound); err != nil || got != want {
					t.Errorf("is %s (%v), want %s", got, err, want)
				}
			}
		})
	}
}

func TestTheCertificateMustNameTheGateway(t *testing.T) {
	clearEnvironment(t)
	tomorrow := time.Now().Add(24 * time.Hour)
	cert, key := makeCertificate(t, tomorrow, "localhost", "127.0.0.2", "gw.example")
	for _, listen := range []string{":8081", "127.0.0.2:8081", "gw.example:8081"} {
		mustParse(t, "serve", "--tls-cert-file", cert, "--tls-key-file", key, "--internal-listen-addr", listen)
	}

	_, another := makeCertificate(t, tomorrow, "localhost")
	elsewhere, elsewhereKey := makeCertificate(t, tomorrow, "monitor.example.com")
	old, oldKey := makeCertificate(t, time.Now().Add(-time.Hour), "localhost")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ cert, key, listen, says string }{
		"another certificate's key":         {cert, another, ":8081", "TLS_KEY_FILE"},
		"files with nothing in them":        {empty, empty, ":8081", "TLS_KEY_FILE"},
		"a certificate for another host":    {elsewhere, elsewhereKey, ":8081", "not valid for localhost"},
		"a certificate without the address": {cert, key, "127.0.0.3:8081", "not valid for 127.0.0.3"},
		"a certificate that has run out":    {old, oldKey, ":8081", "expired"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			got := mustRefuse(t, "serve", "--tls-cert-file", c.cert, "--tls-key-file", c.key, "--internal-listen-addr", c.listen)
			if len(got) != 1 || !strings.HasPrefix(got[0], "TLS_CERT_FILE (--tls-cert-file)") || !strings.Contains(got[0], c.says) {
				t.Errorf("says %q", got)
			}
		})
	}
}
