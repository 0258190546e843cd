package gateway_test

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
)

func TestACertificateFileMakesItsGatewayTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // ignores the failed handshake
	server.StartTLS()
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "cert.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	roots, err := gateway.Roots(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]gateway.Config{"with it": {RootCAs: roots}, "without it": {}} {
		_, err := client(t, server.URL, cfg).Assignment(t.Context(), monitorID, 1)
		distrusted := err != nil && strings.Contains(err.Error(), "x509")
		if distrusted != (cfg.RootCAs == nil) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	for name, path := range map[string]string{"is not there": file + "x", "holds no certificate": os.Args[0]} {
		if _, err := gateway.Roots(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a file that %s: error is %v", name, err)
		}
	}
}
