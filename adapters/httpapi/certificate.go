package httpapi

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateCheckInterval is the minimum time between two checks of the files.
const certificateCheckInterval = 10 * time.Second

// certificate is a certificate whose files may be replaced at any time. New connections
// use the newest valid pair, without a restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu        sync.Mutex
	loaded    *tls.Certificate
	fileState string    // the stateOf the files that were loaded or refused last
	checkedAt time.Time // when fileState was last compared with the files
}

// loadCertificate loads the pair. Errors: a file cannot be read, or the key does not belong
// to the certificate.
func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log, fileState: stateOf(certFile, keyFile), checkedAt: time.Now()}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("listen: load the certificate: %w", err)
	}
	c.loaded = &pair
	return c, nil
}

// get is the GetCertificate of a tls.Config.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checkedAt) < certificateCheckInterval {
		return c.loaded, nil
	}
	c.checkedAt = time.Now()
	if state := stateOf(c.certFile, c.keyFile); state != c.fileState {
		c.fileState = state
		pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
		if err != nil {
			c.log.Warn("the new certificate cannot be used, the gateway keeps the old one: correct the files TLS_CERT_FILE and TLS_KEY_FILE", "error", err)
			return c.loaded, nil
		}
		c.loaded = &pair
		c.log.Info("the certificate was renewed", "not_after", pair.Leaf.NotAfter)
	}
	return c.loaded, nil
}

// stateOf returns a text with the times and sizes of files. It follows symbolic links,
// because Kubernetes replaces the links of a mounted Secret.
func stateOf(files ...string) (state string) {
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return err.Error()
		}
		state += fmt.Sprintln(info.ModTime().UnixNano(), info.Size())
	}
	return state
}
