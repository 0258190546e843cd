package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

func TestWithoutUIThereIsNoDashboard(t *testing.T) {
	for setting, want := range map[string]bool{"on": true, "off": false} {
		g := &gatewayServer{settings: &config.Serve{UI: setting}, log: slog.New(slog.DiscardHandler)}
		got, err := g.newDashboard()
		if err != nil || (got != nil) != want {
			t.Errorf("UI=%s: the dashboard is %v (%v)", setting, got, err)
		}
	}
}

func TestTheAddressOfTheDashboardIsOneThatABrowserReaches(t *testing.T) {
	for name, c := range map[string]struct {
		settings config.Serve
		want     string
	}{
		"every address":  {config.Serve{ListenAddr: ":0"}, "http://localhost:PORT"},
		"one address":    {config.Serve{ListenAddr: "127.0.0.1:0"}, "http://127.0.0.1:PORT"},
		"with TLS":       {config.Serve{ListenAddr: ":0", TLSCertFile: "cert.pem"}, "https://localhost:PORT"},
		"with its proxy": {config.Serve{ListenAddr: ":0", PublicURL: "https://monitor.example.com/"}, "https://monitor.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := httpapi.Listen(nil, httpapi.ServerConfig{Addr: c.settings.ListenAddr})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Shutdown(t.Context()) }()
			g := &gatewayServer{settings: &c.settings, public: server}
			_, port, _ := strings.Cut(strings.TrimPrefix(server.Addr().String(), "[::]"), ":")
			if got, want := g.dashboardURL(), strings.ReplaceAll(c.want, "PORT", port); got != want {
				t.Errorf("the address is %s, want %s", got, want)
			}
		})
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
