package gateway

import (
	"crypto/x509"
	"fmt"
	"os"
)

// Roots is the system's roots and the certificates of a PEM file. A gateway
// whose certificate nobody on this machine vouches for is trusted by naming
// that certificate itself, or whoever signed it. Errors: the file cannot be
// read, or has no certificate in it.
func Roots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the gateway's certificate: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a machine without roots still has the file's
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the gateway's certificate: %s holds no certificate in PEM", file)
	}
	return roots, nil
}
