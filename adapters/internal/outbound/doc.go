// Package outbound decides to which addresses this program may connect: a host that
// a caller or a playlist names must be on the public internet.
//
//	URL's host ─▶ ParseHost ──▶ an address ──────────────┐
//	                   │                                 ├─▶ Policy.Refuses ─▶ connect
//	                   ├──────▶ a name ─▶ name service ──┘   at every dial
//	                   └──────▶ neither: refused
//
// Guarantees:
//
//   - An address is judged as the one that a packet would go to: IPv4 written
//     as IPv6 (::ffff:0:0/96, and 64:ff9b::/96 where a NAT64 translates
//     it back, RFC 6052) is the IPv4 address, and a zone changes nothing. So a
//     network without IPv4 of its own reaches what is outside, and nothing inside.
//   - Refused are all special-purpose networks of the IANA registries for IPv4
//     and IPv6, what IPv6 has outside 2000::/3, and Azure's metadata service,
//     whose address looks like any other. The metadata services of the other
//     clouds lie in networks that are refused anyway. So do 64:ff9b:1::/48, 6to4
//     and Teredo, whatever they carry: nobody can be reached by them but through
//     a translator nearby.
//   - A name is never judged, only the addresses that it has: .local and
//     .internal are as good as what they lead to. The exception is localhost and
//     what is under it (RFC 6761, section 6.3), which is known without asking.
//   - A number that is not an address in its usual form (2130706433, 0x7f.1,
//     0177.0.0.1, 127.1) is refused wherever it leads: programs do not agree on
//     what it means, and no name ends in a number (RFC 3696, section 2).
//
// Ports are not judged: a public host has whatever port it says.
package outbound
