package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lookupLimit is how long a registration waits for the name service.
const lookupLimit = 2 * time.Second

// metadata is the one metadata service with a public address (Azure's).
var metadata = netip.MustParsePrefix("168.63.129.16/32")

// errRefused marks a dial that was refused by policy, not by the network.
var errRefused = errors.New("refused")

// Guard decides where webhooks may go (decision A2). It may be used
// concurrently.
type Guard struct {
	allowed  []netip.Prefix
	guardian *ssrf.Guardian
	resolver *net.Resolver
}

// NewGuard makes a guard that lets webhooks go by https to public addresses,
// and by http and https to whatever lies in an allowed network. resolver looks
// names up; nil is the system's.
func NewGuard(allowed []netip.Prefix, resolver *net.Resolver) *Guard {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	var v4, v6 []netip.Prefix
	for _, p := range allowed {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return &Guard{
		allowed: slices.Clone(allowed),
		guardian: ssrf.New( // asked about addresses only: any port will do
			ssrf.WithAllowedV4Prefixes(v4...),
			ssrf.WithAllowedV6Prefixes(v6...),
			ssrf.WithDeniedV4Prefixes(metadata)),
		resolver: resolver,
	}
}

const accepted = "accepted is an https URL that leads to public addresses, " +
	"or an http or https URL into a network listed in CALLBACK_ALLOWED_NETWORKS"

// Check looks a callback URL's host up, for 2 s at most, and refuses what is
// known to be bad: one address that webhooks may not go to is enough. A name
// that cannot be resolved now is accepted, because it is checked again at
// every dial. Errors: *monitor.Error InvalidURL.
func (g *Guard) Check(ctx context.Context, u monitor.CallbackURL) error {
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Hostname() == "" {
		return monitor.Errorf(monitor.InvalidURL, "callback_url: is not a URL with a host; %s", accepted)
	}
	plain := parsed.Scheme == "http"
	if plain && len(g.allowed) == 0 {
		return monitor.Errorf(monitor.InvalidURL, "callback_url: plain http is not accepted here; %s", accepted)
	}

	host := parsed.Hostname()
	if a, err := netip.ParseAddr(host); err == nil {
		return g.refuse(host, a, plain)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	addresses, err := g.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for _, a := range addresses {
		if err := g.refuse(host, a, plain); err != nil {
			return err
		}
	}
	return nil
}

// refuse is Check of one of a host's addresses.
func (g *Guard) refuse(host string, a netip.Addr, plain bool) error {
	if err := g.judge(fmt.Sprintf("the host %.100q", host), a, plain); err != nil {
		return monitor.Errorf(monitor.InvalidURL, "callback_url: %v; %s", err, accepted)
	}
	return nil
}

// judge tells why a webhook may not go to an address, in plain http or not. It
// does not tell the address: which one a name has inside is not the caller's to
// learn.
func (g *Guard) judge(host string, a netip.Addr, plain bool) error {
	a = canonical(a)
	if plain {
		if slices.ContainsFunc(g.allowed, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return nil
		}
		return fmt.Errorf("plain http to %s is not accepted: it is not in an allowed network", host)
	}
	if g.guardian.SafeAddr(a) != nil {
		return fmt.Errorf("%s leads to %s", host, kind(a))
	}
	return nil
}

// control is the check at the dial, for net.Dialer.Control: the address is the
// one that is about to be connected to.
func (g *Guard) control(plain bool) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || (network != "tcp4" && network != "tcp6") {
			return fmt.Errorf("%w: the host is not at a TCP address", errRefused)
		}
		if err := g.judge("the host", to.Addr(), plain); err != nil {
			return fmt.Errorf("%w: %w; see CALLBACK_ALLOWED_NETWORKS", errRefused, err)
		}
		return nil
	}
}

// canonical is the address a packet would go to: an IPv4 address in IPv6
// clothes is the IPv4 address, and a zone does not change the network.
func canonical(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
