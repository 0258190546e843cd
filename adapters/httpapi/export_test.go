package httpapi

import (
	"crypto/tls"
	"log/slog"
)

// LoadCertificate returns a function that returns the certificate for a new connection.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (get func() *tls.Certificate, err error) {
	c, err := loadCertificate(certFile, keyFile, log)
	if err != nil {
		return nil, err
	}
	return func() *tls.Certificate {
		shown, err := c.get(nil)
		if err != nil {
			panic(err)
		}
		return shown
	}, nil
}
