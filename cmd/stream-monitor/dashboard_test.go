package main

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

func TestWithoutUIThereIsNoDashboard(t *testing.T) {
	for setting, want := range map[string]bool{"on": true, "off": false} {
		got, err := newDashboard(&config.Serve{UI: setting})
		if err != nil || (got != nil) != want {
			t.Errorf("UI=%s: the dashboard is %v (%v)", setting, got, err)
		}
	}
}

func TestTheAddressOfTheDashboardIsOneThatABrowserReaches(t *testing.T) {
	for name, c := range map[string]struct {
		settings        config.Serve
		listening, want string
	}{
		"every address":  {config.Serve{}, "[::]:8080", "http://localhost:8080"},
		"one address":    {config.Serve{}, "127.0.0.1:8080", "http://127.0.0.1:8080"},
		"with TLS":       {config.Serve{TLSCertFile: "cert.pem"}, "0.0.0.0:8080", "https://localhost:8080"},
		"with its proxy": {config.Serve{PublicURL: "https://monitor.example.com/"}, "[::]:8080", "https://monitor.example.com"},
	} {
		if got := dashboardURL(&c.settings, c.listening); got != c.want {
			t.Errorf("%s: the address is %s, want %s", name, got, c.want)
		}
	}
}

func TestTheDashboardIsShownOnlyIfThereIsOne(t *testing.T) {
	var screen bytes.Buffer
	g := &gatewayServer{settings: &config.Serve{UI: "off"}, log: slog.New(slog.DiscardHandler), person: &screen}
	g.showDashboard()
	if screen.Len() > 0 {
		t.Errorf("with UI=off it shows %q", &screen)
	}
}
