package httpapi

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is how often the files of a certificate are looked at, at most.
const lookEvery = 10 * time.Second

// certificate is a certificate in files, which whoever renews it replaces. The
// one that was loaded last stays until there is another that makes sense.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	state  string    // of the files, as loaded or as last complained of
	looked time.Time // at them
}

// loadCertificate reads it for the first time. Errors: the files make no sense.
func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log, state: stateOf(certFile, keyFile), looked: time.Now()}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("listen: load the certificate: %w", err)
	}
	c.loaded = &pair
	return c, nil
}

// get gives the present one to a new connection.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookEvery {
		return c.loaded, nil
	}
	c.looked = time.Now()
	if state := stateOf(c.certFile, c.keyFile); state != c.state {
		c.state = state
		pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
		if err != nil {
			c.log.Warn("the new certificate cannot be used; the old one stays", "error", err)
			return c.loaded, nil
		}
		c.loaded = &pair
		c.log.Info("the certificate was renewed", "not_after", pair.Leaf.NotAfter)
	}
	return c.loaded, nil
}

// stateOf changes when a file does. Mounted secrets are links to other files at
// each change.
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
