package acceptance_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// selfSignedCertificate makes a self-signed certificate of 127.0.0.1.
func selfSignedCertificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	roots = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(certificate)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", certificate), write("key.pem", "PRIVATE KEY", private), roots
}

func TestOnlyTLS12AndLaterIsAccepted(t *testing.T) { // section 12.1, decision O6
	runTimeline(t, 1, 10*time.Second)
	certFile, keyFile, roots := selfSignedCertificate(t)
	s, err := system.Start(t.Context(), system.Config{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"),
		Env: []string{"TLS_CERT_FILE=" + certFile, "TLS_KEY_FILE=" + keyFile}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	for port, url := range map[string]string{"public": s.URL(), "internal": s.InternalURL()} {
		for version, accepted := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
			conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "http://"), &tls.Config{RootCAs: roots, MinVersion: version, MaxVersion: version})
			if err == nil {
				conn.Close()
			}
			if accepted != (err == nil) || err != nil && !strings.Contains(err.Error(), "protocol version") {
				t.Errorf("%s on the %s port: %v", tls.VersionName(version), port, err)
			}
		}
	}
}
