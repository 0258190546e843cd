package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// lookupTimeout limits the name lookup of a Check.
const lookupTimeout = 2 * time.Second

// Guard decides to which hosts the program may send what it was asked to send (decision
// A2). It may be used concurrently.
type Guard struct {
	allowsNetworks bool // at least one private network is allowed
	policy         *Policy
	resolver       *net.Resolver
}

// NewGuard returns a guard that allows https to public addresses, and http and https
// to addresses in the allowed networks. A nil resolver is the system's.
func NewGuard(allowed []netip.Prefix, resolver *net.Resolver) *Guard {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	return &Guard{allowsNetworks: len(allowed) > 0, policy: New(allowed), resolver: resolver}
}

// Check returns why a URL is refused, as the end of a sentence, or nil. It resolves the host, for
// at most 2 s. It refuses an invalid host name, and a host with an address that is not
// allowed. It accepts a name that it cannot resolve now, because every dial checks again.
func (g *Guard) Check(ctx context.Context, rawURL string) error {
	parsed, err := url.Parse(rawURL)
	if err != nil || parsed.Hostname() == "" {
		return errors.New("is not a URL with a host")
	}
	plain := parsed.Scheme == "http"
	if plain && !g.allowsNetworks {
		return errors.New("plain http is not accepted here")
	}

	shown := fmt.Sprintf("the host %.100q", parsed.Hostname())
	host, err := ParseHost(parsed.Hostname())
	if err != nil {
		return fmt.Errorf("%s %w", shown, err)
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
		if err := g.checkAddress(shown, a, plain); err != nil {
			return err
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
			first = reason
		}
	}
	return first
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

// Dialer returns a dialer that checks every address that it is about to connect to. plain
// says that it is for http without TLS. A timeout of 0 means none.
func (g *Guard) Dialer(plain bool, timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Resolver: g.resolver, Control: g.control(plain)}
}

// control returns a net.Dialer.Control. The dialer calls it with the address that it
// is about to connect to.
func (g *Guard) control(plain bool) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		to, err := DialedAddr(network, address)
		if err != nil {
			return fmt.Errorf("%w: the host is not at a TCP address", err)
		}
		if err := g.checkAddress("the host", to, plain); err != nil {
			return fmt.Errorf("%w: %w; see CALLBACK_ALLOWED_NETWORKS", ErrRefused, err)
		}
		return nil
	}
}
