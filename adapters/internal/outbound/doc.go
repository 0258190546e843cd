// Package outbound decides to which addresses this program may connect: a host that
// a caller or a playlist names must be on the public internet.
//
//	URL's host ─▶ ParseHost ──▶ an address ──────────────┐
//	                   │                                 ├─▶ Policy.RefusalReason ─▶ connect
//	                   ├──────▶ a name ─▶ name service ──┘   at every dial
//	                   └──────▶ neither: refused
//
// Guarantees:
//
//   - The policy checks the address that a packet would reach. IPv4 written as IPv6
//     (::ffff:0:0/96, and 64:ff9b::/96 behind a NAT64, RFC 6052) is checked as the
//     IPv4 address, and a zone changes nothing. A network without IPv4 therefore
//     reaches public addresses, and no internal ones.
//   - It refuses all special-purpose networks of the IANA registries for IPv4 and
//     IPv6, IPv6 outside 2000::/3, and Azure's metadata service, whose address is an
//     ordinary public one. The metadata services of other clouds are in refused
//     networks. It also refuses all of 64:ff9b:1::/48, 6to4 and Teredo: only a
//     translator nearby makes them reachable.
//   - It checks the addresses of a name, never the name: .local and .internal are not
//     special. The exception is localhost and names under it (RFC 6761, section 6.3),
//     whose addresses are known without a lookup.
//   - ParseHost rejects a number that is not an address in its usual form
//     (2130706433, 0x7f.1, 0177.0.0.1, 127.1). Programs disagree on its meaning, and
//     no name ends in a number (RFC 3696, section 2).
//
// Every port is allowed.
//
// Guard checks URLs by such a policy before they are used, and Client sends HTTP requests
// through its dialers. One request takes at most the client's timeout. Client reads at most
// 64 KiB of a response's header, and at most 64 KiB of its body for at most 1 s.
package outbound
