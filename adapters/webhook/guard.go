package webhook

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lookupTimeout limits a name lookup at registration.
const lookupTimeout = 2 * time.Second

// Guard decides where webhooks may go (decision A2). It may be used
// concurrently.
type Guard struct {
	allowsNetworks bool // at least one private network is allowed
	policy         *outbound.Policy
	resolver       *net.Resolver
}

// NewGuard returns a guard that allows https to public addresses, and http and https
// to addresses in the allowed networks. A nil resolver is the system's.
func NewGuard(allowed []netip.Prefix, resolver *net.Resolver) *Guard {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	return &Guard{allowsNetworks: len(allowed) > 0, policy: outbound.New(allowed), resolver: resolver}
}

const acceptedURLs = "accepted is an https URL that leads to public addresses, " +
	"or an http or https URL into a network listed in CALLBACK_ALLOWED_NETWORKS"

// Check implements registry.CallbackPolicy. It resolves the host, for at most 2 s. It
// refuses an invalid host name, and a host with an address that is not allowed. It accepts
// a name that it cannot resolve now, because every dial checks again. Errors:
// *monitor.Error InvalidURL.
func (g *Guard) Check(ctx context.Context, u monitor.CallbackURL) error {
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Hostname() == "" {
		return invalidURL("is not a URL with a host")
	}
	plain := parsed.Scheme == "http"
	if plain && !g.allowsNetworks {
		return invalidURL("plain http is not accepted here")
	}

	shown := fmt.Sprintf("the host %.100q", parsed.Hostname())
	host, err := outbound.ParseHost(parsed.Hostname())
	if err != nil {
		return invalidURL(shown + " " + err.Error())
	}
	if len(host.KnownAddrs) > 0 {
		return g.checkAnyAddress(shown, host.KnownAddrs, plain)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := g.resolver.LookupNetIP(ctx, "ip", host.Name)
	if err != nil {
		return nil
	}
	for _, a := range addresses {
		if reason := g.checkAddress(shown, a, plain); reason != nil {
			return invalidURL(reason.Error())
		}
	}
	return nil
}

// checkAnyAddress refuses a host if none of its addresses is allowed. localhost has two
// addresses, and only the dial shows which of them this machine uses.
func (g *Guard) checkAnyAddress(shown string, addresses []netip.Addr, plain bool) error {
	var first error
	for _, a := range addresses {
		reason := g.checkAddress(shown, a, plain)
		if reason == nil {
			return nil
		}
		if first == nil {
			first = invalidURL(reason.Error())
		}
	}
	return first
}

func invalidURL(why string) error {
	return monitor.Errorf(monitor.InvalidURL, "callback_url: %s; %s", why, acceptedURLs)
}

// checkAddress returns why an address is not allowed; plain means http without TLS. The
// error does not name the address, because the caller must not learn internal addresses.
func (g *Guard) checkAddress(host string, a netip.Addr, plain bool) error {
	if plain {
		if g.policy.Exempts(a) {
			return nil
		}
		return fmt.Errorf("plain http to %s is not accepted: it is not in an allowed network", host)
	}
	if why := g.policy.RefusalReason(a); why != "" {
		return fmt.Errorf("%s leads to %s", host, why)
	}
	return nil
}

// control returns a net.Dialer.Control. The dialer calls it with the address that it
// is about to connect to.
func (g *Guard) control(plain bool) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		to, err := outbound.DialedAddr(network, address)
		if err != nil {
			return fmt.Errorf("%w: the host is not at a TCP address", err)
		}
		if err := g.checkAddress("the host", to, plain); err != nil {
			return fmt.Errorf("%w: %w; see CALLBACK_ALLOWED_NETWORKS", outbound.ErrRefused, err)
		}
		return nil
	}
}
