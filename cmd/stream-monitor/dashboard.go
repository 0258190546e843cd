package main

import (
	"fmt"
	"net"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/httpapi/ui"
	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// newDashboard returns the dashboard, or nil with UI=off.
func newDashboard(c *config.Serve) (*ui.Dashboard, error) {
	if c.UI == "off" {
		return nil, nil //nolint:nilnil // there is none
	}
	return ui.New(httpapi.Origin(c.PublicURL))
}

// showDashboard tells where the dashboard is, as the last line of a start. If API_KEY is
// not configured, nobody knows the key yet, so it shows a link that signs in once.
func (g *gatewayServer) showDashboard() {
	if g.dashboard == nil {
		return
	}
	base := dashboardURL(g.settings, g.public.Addr().String())
	if !g.dashboard.Built() {
		g.log.Info("the dashboard is not in this binary: \"make build\" puts it there where Node.js is installed", "dashboard", base+"/")
		return
	}
	keys := config.KeysPath(g.settings.Database.DataDir)
	switch generated := g.settings.Keys.APIKey == ""; {
	case generated && g.person != nil:
		fmt.Fprintf(g.person, "\n  Open the dashboard: %s%s\n  This link signs in once, within 10 minutes. Later, sign in with API_KEY of %s.\n\n", base, g.api.NewSignInLink(), keys)
	case generated:
		g.log.Info("open the dashboard with this link, which signs in once, within 10 minutes", "link", logging.Verbatim(base+g.api.NewSignInLink()), "keys", keys)
	case g.person != nil:
		fmt.Fprintf(g.person, "\n  Open the dashboard: %s/\n  Sign in with API_KEY.\n\n", base)
	default:
		g.log.Info("the dashboard is open to those who sign in with API_KEY", "dashboard", base+"/")
	}
}

// dashboardURL returns PUBLIC_URL, else the address at which this machine reaches the
// public port. listening is the address on which that port is open.
func dashboardURL(c *config.Serve, listening string) string {
	if c.PublicURL != "" {
		return strings.TrimSuffix(c.PublicURL, "/")
	}
	host, port, err := net.SplitHostPort(listening)
	if err != nil {
		return "http://" + listening
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if c.TLSCertFile != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
