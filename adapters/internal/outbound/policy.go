package outbound

import (
	"errors"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

var (
	// metadata is the one metadata service with a public address (Azure's).
	metadata = netip.MustParsePrefix("168.63.129.16/32")

	// translated is where a NAT64 has the IPv4 internet (RFC 6052, section 2.1).
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

// ErrRefused marks a dial that was refused by policy, not by the network.
var ErrRefused = errors.New("refused")

// Policy is which addresses may be connected to: those of the public internet,
// and those in the networks that are listed. It may be used concurrently.
type Policy struct {
	listed   []netip.Prefix
	guardian *ssrf.Guardian
}

// New makes a policy. listed are networks that may be connected to though they
// are not on the public internet; their IPv4 ones hold for what a NAT64
// translates too.
func New(listed []netip.Prefix) *Policy {
	return &Policy{
		listed:   slices.Clone(listed),
		guardian: ssrf.New(ssrf.WithDeniedV4Prefixes(metadata)), // asked about addresses only: any port will do
	}
}

// Lists reports whether an address is in one of the networks listed.
func (p *Policy) Lists(a netip.Addr) bool {
	plain, end := a.Unmap().WithZone(""), canonical(a)
	return slices.ContainsFunc(p.listed, func(n netip.Prefix) bool { return n.Contains(plain) || n.Contains(end) })
}

// Refuses says in a word or two why an address may not be connected to, such as "a
// private address"; empty: it may. The answer does not hold the address: a caller must
// not learn to which address a name resolves here.
func (p *Policy) Refuses(a netip.Addr) (why string) {
	if p.Lists(a) {
		return ""
	}
	a = canonical(a)
	if p.guardian.SafeAddr(a) == nil {
		return ""
	}
	return kind(a)
}

// Control checks the address of a dial; it is a net.Dialer.Control. Its errors are
// ErrRefused.
func (p *Policy) Control(network, address string, _ syscall.RawConn) error {
	to, err := DialedAddr(network, address)
	if err != nil {
		return err
	}
	if p.Refuses(to) != "" {
		return ErrRefused
	}
	return nil
}

// DialedAddr is the address of a dial as net.Dialer.Control gets it. A dial that is
// not TCP to an address is ErrRefused.
func DialedAddr(network, address string) (netip.Addr, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") {
		return netip.Addr{}, ErrRefused
	}
	return to.Addr(), nil
}

// canonical is the address a packet would go to in the end.
func canonical(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if translated.Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// kind says in a word or two why a canonical address is refused.
func kind(a netip.Addr) string {
	switch {
	case a.IsLoopback():
		return "a loopback address"
	case a.IsPrivate():
		return "a private address"
	case a.IsLinkLocalUnicast() || metadata.Contains(a):
		return "a link-local or metadata address"
	case a.IsUnspecified():
		return "no particular address"
	case a.IsMulticast():
		return "a multicast address"
	}
	return "a reserved address"
}
