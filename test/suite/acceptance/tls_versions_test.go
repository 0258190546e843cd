package acceptance_test

import (
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/certificate"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

func TestOnlyTLS12AndLaterIsAccepted(t *testing.T) { // section 12.1, decision O6
	runTimeline(t, 1, 10*time.Second)
	certFile, keyFile, roots := certificate.New(t, time.Now().Add(time.Hour), "127.0.0.1")
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
