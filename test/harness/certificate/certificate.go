// Package certificate makes self-signed certificates for tests of TLS.
package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// New makes a self-signed certificate for DNS names and IP addresses, valid until a time,
// and writes it and its key as PEM files. roots trust the certificate.
func New(t testing.TB, until time.Time, names ...string) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-48 * time.Hour),
		NotAfter:     until,
		IsCA:         true, BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, raw []byte) (path string, encoded []byte) {
		path, encoded = filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
		if err := os.WriteFile(path, encoded, 0o600); err != nil {
			t.Fatal(err)
		}
		return path, encoded
	}
	certFile, encoded := write("cert.pem", "CERTIFICATE", der)
	keyFile, _ = write("key.pem", "PRIVATE KEY", rawKey)
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(encoded)
	return certFile, keyFile, roots
}
