package outbound

import (
	"errors"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

var (
	// azureMetadata is Azure's metadata service, the only one with a public address.
	azureMetadata = netip.MustParsePrefix("168.63.129.16/32")

	// nat64Prefix holds the IPv4 internet behind a NAT64 (RFC 6052, section 2.1).
	nat64Prefix = netip.MustParsePrefix("64:ff9b::/96")
)

// ErrRefused marks a dial that was refused by policy, not by the network.
var ErrRefused = errors.New("refused")

// Policy decides which addresses may be connected to: those of the public internet
// and those in exempt networks. It may be used concurrently.
type Policy struct {
	exempt   []netip.Prefix
	guardian *ssrf.Guardian
}

// New makes a policy. The exempt networks may be connected to although they are not
// on the public internet. An exempt IPv4 network also covers its addresses behind
// NAT64.
func New(exempt []netip.Prefix) *Policy {
	return &Policy{
		exempt:   slices.Clone(exempt),
		guardian: ssrf.New(ssrf.WithDeniedV4Prefixes(azureMetadata)), // it checks addresses only, never ports
	}
}

// Exempts reports whether an address is in one of the exempt networks.
func (p *Policy) Exempts(a netip.Addr) bool {
	plain, destination := a.Unmap().WithZone(""), canonical(a)
	return slices.ContainsFunc(p.exempt, func(n netip.Prefix) bool { return n.Contains(plain) || n.Contains(destination) })
}

// RefusalReason returns why an address may not be connected to, such as "a private
// address", or "" if it may. It does not contain the address: a caller must not learn
// to which address a name resolves here.
func (p *Policy) RefusalReason(a netip.Addr) string {
	if p.Exempts(a) {
		return ""
	}
	a = canonical(a)
	if p.guardian.SafeAddr(a) == nil {
		return ""
	}
	return reasonFor(a)
}

// Control checks the address of a dial; it is a net.Dialer.Control. Its errors are
// ErrRefused.
func (p *Policy) Control(network, address string, _ syscall.RawConn) error {
	to, err := DialedAddr(network, address)
	if err != nil {
		return err
	}
	if p.RefusalReason(to) != "" {
		return ErrRefused
	}
	return nil
}

// DialedAddr returns the address of a dial from the arguments of net.Dialer.Control.
// It returns ErrRefused for a dial that is not TCP to an address.
func DialedAddr(network, address string) (netip.Addr, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") {
		return netip.Addr{}, ErrRefused
	}
	return to.Addr(), nil
}

// canonical returns the address that a packet would reach in the end.
func canonical(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if nat64Prefix.Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// reasonFor returns why a canonical address is refused.
func reasonFor(a netip.Addr) string {
	switch {
	case a.IsLoopback():
		return "a loopback address"
	case a.IsPrivate():
		return "a private address"
	case a.IsLinkLocalUnicast() || azureMetadata.Contains(a):
		return "a link-local or metadata address"
	case a.IsUnspecified():
		return "no particular address"
	case a.IsMulticast():
		return "a multicast address"
	}
	return "a reserved address"
}
