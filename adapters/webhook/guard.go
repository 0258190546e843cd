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

// lookupLimit is how long a registration waits for the name service.
const lookupTimeout = 2 * time.Second

// Guard decides where webhooks may go (decision A2). It may be used
// concurrently.
type Guard struct {
	allowsNetworks bool // some are allowed
	policy         *outbound.Policy
	resolver       *net.Resolver
}

// NewGuard makes a guard that lets webhooks go by https to public addresses,
// and by http and https to whatever lies in an allowed network. resolver looks
// names up; nil is the system's.
func NewGuard(allowed []netip.Prefix, resolver *net.Resolver) *Guard {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	return &Guard{allowsNetworks: len(allowed) > 0, policy: outbound.New(allowed), resolver: resolver}
}

const acceptedURLs = "accepted is an https URL that leads to public addresses, " +
	"or an http or https URL into a network listed in CALLBACK_ALLOWED_NETWORKS"

// Check looks a callback URL's host up, for 2 s at most, and refuses what is
// known to be bad: one address that webhooks may not go to is enough, and so is
// a host that no name service could know. A name that cannot be resolved now is
// accepted, because it is checked again at every dial. Errors: *monitor.Error
// InvalidURL.
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
	if len(host.Known) > 0 {
		return g.checkAnyAddress(shown, host.Known, plain)
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

// judgeEither refuses a host if webhooks may go to none of its addresses: which
// of its two localhost has on this machine shows at the dial.
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

// judge tells why a webhook may not go to an address, in plain http or not. It
// does not tell the address: which one a name has inside is not the caller's to
// learn.
func (g *Guard) checkAddress(host string, a netip.Addr, plain bool) error {
	if plain {
		if g.policy.Lists(a) {
			return nil
		}
		return fmt.Errorf("plain http to %s is not accepted: it is not in an allowed network", host)
	}
	if why := g.policy.Refuses(a); why != "" {
		return fmt.Errorf("%s leads to %s", host, why)
	}
	return nil
}

// control is the check at the dial, for net.Dialer.Control: the address is the
// one that is about to be connected to.
func (g *Guard) control(plain bool) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		to, err := outbound.Dialled(network, address)
		if err != nil {
			return fmt.Errorf("%w: the host is not at a TCP address", err)
		}
		if err := g.checkAddress("the host", to, plain); err != nil {
			return fmt.Errorf("%w: %w; see CALLBACK_ALLOWED_NETWORKS", outbound.ErrRefused, err)
		}
		return nil
	}
}
