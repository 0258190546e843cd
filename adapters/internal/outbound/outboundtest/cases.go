package outboundtest

import (
	"net/netip"
	"slices"
	"strings"
)

// Verdict is the expected treatment of a URL with a host.
type Verdict int

// Verdicts of a Case.
const (
	Allowed      Verdict = iota // it is connected to
	Refused                     // refused once its address is known: at registration and at every dial
	Invalid                     // refused for its spelling, whatever its address
	Unresolvable                // a name without a DNS record: it can be registered, but not reached
)

// Case is a way to write a host, and the expected verdict.
type Case struct {
	Name string // for the subtest: the host
	Host string // the URL between "//" and the port, user name included

	Verdict Verdict

	// Address is the destination of a dial. It is empty if the host has no address,
	// or if the address depends on the machine.
	Address string

	NeedsLookup bool // it needs a DNS lookup
	HasUserInfo bool // it contains a user name, which callbacks must not (decision A2)
}

// URL returns a URL with this host.
func (c Case) URL(scheme, port string) string { return scheme + "://" + c.Host + ":" + port + "/hook" }

// Cases returns the table.
func Cases() []Case {
	return slices.Concat(publicAddresses, internalAddresses, embeddedAddresses, numericHosts, malformedHosts, hostNames)
}

// addresses are hosts that are IP addresses, which a dial reaches as they are.
func addresses(v Verdict, hosts ...string) (all []Case) {
	for _, host := range hosts {
		a := netip.MustParseAddr(strings.Replace(strings.Trim(host, "[]"), "%25", "%", 1))
		all = append(all, Case{Name: host, Host: host, Verdict: v, Address: a.Unmap().String()})
	}
	return all
}

// spellings are hosts that are other ways to write an address.
func spellings(v Verdict, address string, hosts ...string) (all []Case) {
	for _, host := range hosts {
		all = append(all, Case{Name: host, Host: host, Verdict: v, Address: address, HasUserInfo: strings.Contains(host, "@")})
	}
	return all
}

// invalid are hosts that are refused for their spelling.
func invalid(hosts ...string) []Case { return spellings(Invalid, "", hosts...) }

// names are host names that lead to an address.
func names(v Verdict, address string, hosts ...string) []Case {
	all := spellings(v, address, hosts...)
	for i := range all {
		all[i].NeedsLookup = true
	}
	return all
}

// publicAddresses are allowed. Many border on a refused network, and so reveal a mask
// that is too wide.
var publicAddresses = slices.Concat(
	addresses(Allowed, "93.184.216.34", "1.0.0.0", "223.255.255.255", "[2606:4700:4700::1111]", "[2A00:1450:4001:0812:0000:0000:0000:200E]"),
	addresses(Allowed, "9.255.255.255", "11.0.0.0"),                          // beside 10/8
	addresses(Allowed, "100.63.255.255", "100.128.0.0"),                      // beside 100.64/10
	addresses(Allowed, "126.255.255.255", "128.0.0.0"),                       // beside 127/8
	addresses(Allowed, "169.253.255.255", "169.255.0.0"),                     // beside 169.254/16
	addresses(Allowed, "172.15.255.255", "172.32.0.0"),                       // beside 172.16/12
	addresses(Allowed, "192.0.1.0"),                                          // after 192.0.0/24
	addresses(Allowed, "192.167.255.255", "192.169.0.0"),                     // beside 192.168/16
	addresses(Allowed, "198.17.255.255", "198.20.0.0"),                       // beside 198.18/15
	addresses(Allowed, "168.63.129.15", "168.63.129.17"),                     // beside Azure's metadata service
	addresses(Allowed, "[2001:200::]", "[2003::]", "[3fff:1000::]"),          // after 2001::/23, 2002::/16 and 3fff::/20
	addresses(Allowed, "[::ffff:93.184.216.34]", "[64:ff9b::93.184.216.34]"), // mapped into IPv6, and behind a NAT64
	spellings(Allowed, "93.184.216.34", "９３.１８４.２１６.３４"),
)

// internalAddresses are refused. They are written in their usual form.
var internalAddresses = slices.Concat(
	addresses(Refused, "127.0.0.1", "127.255.255.255"),                                // loopback
	addresses(Refused, "0.0.0.0", "0.1.2.3"),                                          // this network
	addresses(Refused, "10.0.0.1", "172.16.0.0", "172.31.255.255", "192.168.255.255"), // private
	addresses(Refused, "100.64.0.0", "100.127.255.255"),                               // a carrier's NAT
	addresses(Refused, "169.254.1.1"),                                                 // link-local
	addresses(Refused, "192.0.0.8", "192.88.99.1"),                                    // protocols of the IETF, the relay of 6to4
	addresses(Refused, "198.18.0.0", "198.19.255.255"),                                // benchmarks
	addresses(Refused, "192.0.2.1", "198.51.100.1", "203.0.113.1"),                    // documentation
	addresses(Refused, "224.0.0.1", "239.255.255.255", "240.0.0.1"),                   // multicast, reserved
	spellings(Refused, "", "255.255.255.255"),                                         // broadcast: a dial needs SO_BROADCAST, which it lacks

	addresses(Refused, "169.254.169.254"),                                                      // metadata of AWS, Google, Azure, Oracle, DigitalOcean and others
	addresses(Refused, "[fd00:ec2::254]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"), // of AWS by IPv6, in containers and in pods
	addresses(Refused, "[fd20:ce::254]", "168.63.129.16", "100.100.100.200", "192.0.0.192"),    // of Google by IPv6, Azure, Alibaba, Oracle's first cloud
	addresses(Refused, "169.254.0.23", "169.254.42.42", "[fd00:42::42]"),                       // of Tencent and Scaleway

	addresses(Refused, "[::1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0.0.0.1]"), // loopback
	spellings(Refused, "", "[::1%25lo]"),
	addresses(Refused, "[::]", "[fd12:3456:789a::1]", "[fc00::1]"),                           // unspecified, unique local
	addresses(Refused, "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]", "[ff02::1]"),              // link-local, site-local, multicast
	addresses(Refused, "[100::1]", "[2001:db8::1]", "[3fff::1]", "[2001:2::1]", "[4000::1]"), // discard, documentation, benchmark, unassigned
)

// embeddedAddresses are IPv4 addresses embedded in IPv6 addresses.
var embeddedAddresses = slices.Concat(
	addresses(Refused, "[::ffff:127.0.0.1]", "[::FFFF:7F00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "[::ffff:169.254.169.254]", "[::ffff:168.63.129.16]",
		"[::ffff:0.0.0.0]"), // mapped
	addresses(Refused, "[::127.0.0.1]", "[::93.184.216.34]", "[::ffff:0:127.0.0.1]"),                                      // IPv4-compatible, IPv4-translated (SIIT)
	addresses(Refused, "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b::10.0.0.1]", "[64:ff9b::168.63.129.16]"), // behind a NAT64
	addresses(Refused, "[64:ff9b:1::10.0.0.1]", "[64:ff9b:1::93.184.216.34]"),                                             // behind a local-use NAT64
	addresses(Refused, "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2002:5db8:d822::1]"),                                   // behind 6to4
	addresses(Refused, "[2001:0:53aa:64c:0:0:80ff:fffe]"),                                                                 // behind Teredo
)

// numericHosts are numbers that the C library reads as an address and other parsers
// reject or read differently.
var numericHosts = slices.Concat(
	invalid("2130706433", "017700000001", "0x7f000001", "0X7F000001", "6425673729", "2852039166", "1572395042", "2130706433.", "２１３０７０６４３３"), // one number
	invalid("0177.0.0.01", "127.000.000.001", "012.8.8.8", "0x7f.0x0.0x0.0x1", "0x7f.0.00.1", "0x5d.0xb8.0xd8.0x22"),                         // octal, hexadecimal
	invalid("127.1", "127.0.1", "169.254.43518", "0", "0x", "127.0.0.0.1", "127.0.0.257"),                                                    // fewer or more parts, or too large ones
	invalid("127.0.0.1.", "93.184.216.34.", "public.example.1"),

	// Digits and dots of other scripts, what is not seen, and the same percent-encoded.
	spellings(Refused, "127.0.0.1", "１２７.０.０.１", "127。0。0。1", "127｡0｡0｡1", "①②⑦.⓪.⓪.①", "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
		"127.0\u00ad.0.1", "127.0.0.1\u200b", "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1", "127%E3%80%820%E3%80%820%E3%80%821"),
)

// malformedHosts are hosts on which URL parsers disagree.
var malformedHosts = slices.Concat(
	[]Case{{Name: "no host", Verdict: Invalid}},
	invalid("%31%32%37.0.0.1", "127%2e0%2e0%2e1", "%6cocalhost", "%5B::1%5D"), // percent-encoded
	invalid("127.0.0.1%00.public.example", "127.0.0.1\t", "public.example\r\nHost: inside", "127.0.0.1 .public.example", "127.0.0.1\u200d"),
	invalid("[127.0.0.1]", "::1", "[::１]", "[::1", "[::1].public.example", "[v1.::1]"),
	invalid(".", "127..1", "public.example..", "*.public.example", "127.0.0.1,public.example", strings.Repeat("a", 64)+".example"),
	invalid(`127.0.0.1\.public.example`, `public.example\@127.0.0.1`),

	// A user name before the host.
	spellings(Refused, "127.0.0.1", "public.example@127.0.0.1", "public.example:443@127.0.0.1", "a@public.example@127.0.0.1"),
	spellings(Refused, "::1", "public.example@[::1]"),
	spellings(Allowed, "93.184.216.34", "127.0.0.1@93.184.216.34"),
)
