package webhook

import (
	"context"
	"net"
	"net/netip"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Guard decides where webhooks may go (decision A2). It may be used
// concurrently.
type Guard struct{ outbound *outbound.Guard }

// NewGuard returns a guard that allows https to public addresses, and http and https
// to addresses in the allowed networks. A nil resolver is the system's.
func NewGuard(allowed []netip.Prefix, resolver *net.Resolver) *Guard {
	return &Guard{outbound: outbound.NewGuard(allowed, resolver)}
}

const acceptedURLs = "accepted is an https URL that leads to public addresses, " +
	"or an http or https URL into a network listed in CALLBACK_ALLOWED_NETWORKS"

// Check implements monitors.CallbackPolicy: it checks the URL and the addresses of its
// host, for at most 2 s. Errors: *monitor.Error InvalidURL.
func (g *Guard) Check(ctx context.Context, u monitor.CallbackURL) error {
	if err := g.outbound.Check(ctx, string(u)); err != nil {
		return monitor.Errorf(monitor.InvalidURL, "callback_url: %s; %s", err, acceptedURLs)
	}
	return nil
}
