package outboundtest

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
	Name string // for the subtest
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
func Cases() (all []Case) {
	all = append(all, publicAddresses...)
	all = append(all, internalAddresses...)
	all = append(all, embeddedAddresses...)
	all = append(all, numericHosts...)
	all = append(all, malformedHosts...)
	return append(all, hostNames...)
}

// publicAddresses are allowed. Many border on a refused network, and so reveal a mask
// that is too wide.
var publicAddresses = []Case{
	{Name: "a public address", Host: "93.184.216.34", Address: "93.184.216.34"},
	{Name: "the first public address", Host: "1.0.0.0", Address: "1.0.0.0"},
	{Name: "the last public address", Host: "223.255.255.255", Address: "223.255.255.255"},
	{Name: "the address before 10/8", Host: "9.255.255.255", Address: "9.255.255.255"},
	{Name: "the address after 10/8", Host: "11.0.0.0", Address: "11.0.0.0"},
	{Name: "the address before 100.64/10", Host: "100.63.255.255", Address: "100.63.255.255"},
	{Name: "the address after 100.64/10", Host: "100.128.0.0", Address: "100.128.0.0"},
	{Name: "the address before 127/8", Host: "126.255.255.255", Address: "126.255.255.255"},
	{Name: "the address after 127/8", Host: "128.0.0.0", Address: "128.0.0.0"},
	{Name: "the address before 169.254/16", Host: "169.253.255.255", Address: "169.253.255.255"},
	{Name: "the address after 169.254/16", Host: "169.255.0.0", Address: "169.255.0.0"},
	{Name: "the address before 172.16/12", Host: "172.15.255.255", Address: "172.15.255.255"},
	{Name: "the address after 172.16/12", Host: "172.32.0.0", Address: "172.32.0.0"},
	{Name: "the address after 192.0.0/24", Host: "192.0.1.0", Address: "192.0.1.0"},
	{Name: "the address before 192.168/16", Host: "192.167.255.255", Address: "192.167.255.255"},
	{Name: "the address after 192.168/16", Host: "192.169.0.0", Address: "192.169.0.0"},
	{Name: "the address before 198.18/15", Host: "198.17.255.255", Address: "198.17.255.255"},
	{Name: "the address after 198.18/15", Host: "198.20.0.0", Address: "198.20.0.0"},
	{Name: "the address before Azure's metadata service", Host: "168.63.129.15", Address: "168.63.129.15"},
	{Name: "the address after Azure's metadata service", Host: "168.63.129.17", Address: "168.63.129.17"},

	{Name: "a public IPv6 address", Host: "[2606:4700:4700::1111]", Address: "2606:4700:4700::1111"},
	{Name: "a public IPv6 address in capitals, in full", Host: "[2A00:1450:4001:0812:0000:0000:0000:200E]", Address: "2a00:1450:4001:812::200e"},
	{Name: "the address after 2001::/23", Host: "[2001:200::]", Address: "2001:200::"},
	{Name: "the address after 2002::/16", Host: "[2003::]", Address: "2003::"},
	{Name: "the address after 3fff::/20", Host: "[3fff:1000::]", Address: "3fff:1000::"},
	{Name: "a public address mapped into IPv6", Host: "[::ffff:93.184.216.34]", Address: "93.184.216.34"},
	{Name: "a public address behind a NAT64", Host: "[64:ff9b::93.184.216.34]", Address: "64:ff9b::5db8:d822"},
	{Name: "a public address in full-width digits", Host: "９３.１８４.２１６.３４", Address: "93.184.216.34"},
}

// internalAddresses are refused. They are written in their usual form.
var internalAddresses = []Case{
	{Name: "loopback", Host: "127.0.0.1", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "the last loopback address", Host: "127.255.255.255", Verdict: Refused, Address: "127.255.255.255"},
	{Name: "the unspecified address", Host: "0.0.0.0", Verdict: Refused, Address: "0.0.0.0"},
	{Name: "an address of this network", Host: "0.1.2.3", Verdict: Refused, Address: "0.1.2.3"},
	{Name: "a private address of 10/8", Host: "10.0.0.1", Verdict: Refused, Address: "10.0.0.1"},
	{Name: "the first private address of 172.16/12", Host: "172.16.0.0", Verdict: Refused, Address: "172.16.0.0"},
	{Name: "the last private address of 172.16/12", Host: "172.31.255.255", Verdict: Refused, Address: "172.31.255.255"},
	{Name: "a private address of 192.168/16", Host: "192.168.255.255", Verdict: Refused, Address: "192.168.255.255"},
	{Name: "the first address of a carrier's NAT", Host: "100.64.0.0", Verdict: Refused, Address: "100.64.0.0"},
	{Name: "the last address of a carrier's NAT", Host: "100.127.255.255", Verdict: Refused, Address: "100.127.255.255"},
	{Name: "a link-local address", Host: "169.254.1.1", Verdict: Refused, Address: "169.254.1.1"},
	{Name: "an address of the IETF's protocols", Host: "192.0.0.8", Verdict: Refused, Address: "192.0.0.8"},
	{Name: "the 6to4 relay", Host: "192.88.99.1", Verdict: Refused, Address: "192.88.99.1"},
	{Name: "the first benchmark address", Host: "198.18.0.0", Verdict: Refused, Address: "198.18.0.0"},
	{Name: "the last benchmark address", Host: "198.19.255.255", Verdict: Refused, Address: "198.19.255.255"},
	{Name: "documentation's first network", Host: "192.0.2.1", Verdict: Refused, Address: "192.0.2.1"},
	{Name: "documentation's second network", Host: "198.51.100.1", Verdict: Refused, Address: "198.51.100.1"},
	{Name: "documentation's third network", Host: "203.0.113.1", Verdict: Refused, Address: "203.0.113.1"},
	{Name: "multicast", Host: "224.0.0.1", Verdict: Refused, Address: "224.0.0.1"},
	{Name: "the last multicast address", Host: "239.255.255.255", Verdict: Refused, Address: "239.255.255.255"},
	{Name: "a reserved address", Host: "240.0.0.1", Verdict: Refused, Address: "240.0.0.1"},
	{Name: "broadcast", Host: "255.255.255.255", Verdict: Refused}, // a dial needs SO_BROADCAST, which it lacks

	{Name: "metadata of AWS, Google, Azure, Oracle, DigitalOcean and others", Host: "169.254.169.254", Verdict: Refused, Address: "169.254.169.254"},
	{Name: "metadata of AWS by IPv6", Host: "[fd00:ec2::254]", Verdict: Refused, Address: "fd00:ec2::254"},
	{Name: "credentials of an AWS container", Host: "169.254.170.2", Verdict: Refused, Address: "169.254.170.2"},
	{Name: "credentials of an AWS pod", Host: "169.254.170.23", Verdict: Refused, Address: "169.254.170.23"},
	{Name: "credentials of an AWS pod by IPv6", Host: "[fd00:ec2::23]", Verdict: Refused, Address: "fd00:ec2::23"},
	{Name: "metadata of Google by IPv6", Host: "[fd20:ce::254]", Verdict: Refused, Address: "fd20:ce::254"},
	{Name: "Azure's wire server", Host: "168.63.129.16", Verdict: Refused, Address: "168.63.129.16"},
	{Name: "metadata of Alibaba", Host: "100.100.100.200", Verdict: Refused, Address: "100.100.100.200"},
	{Name: "metadata of Oracle's first cloud", Host: "192.0.0.192", Verdict: Refused, Address: "192.0.0.192"},
	{Name: "metadata of Tencent", Host: "169.254.0.23", Verdict: Refused, Address: "169.254.0.23"},
	{Name: "metadata of Scaleway", Host: "169.254.42.42", Verdict: Refused, Address: "169.254.42.42"},
	{Name: "metadata of Scaleway by IPv6", Host: "[fd00:42::42]", Verdict: Refused, Address: "fd00:42::42"},

	{Name: "IPv6 loopback", Host: "[::1]", Verdict: Refused, Address: "::1"},
	{Name: "IPv6 loopback in full", Host: "[0000:0000:0000:0000:0000:0000:0000:0001]", Verdict: Refused, Address: "::1"},
	{Name: "IPv6 loopback that ends as IPv4 does", Host: "[::0.0.0.1]", Verdict: Refused, Address: "::1"},
	{Name: "the unspecified IPv6 address", Host: "[::]", Verdict: Refused, Address: "::"},
	{Name: "a unique local address", Host: "[fd12:3456:789a::1]", Verdict: Refused, Address: "fd12:3456:789a::1"},
	{Name: "a unique local address of the lower half", Host: "[fc00::1]", Verdict: Refused, Address: "fc00::1"},
	{Name: "an IPv6 link-local address", Host: "[fe80::1]", Verdict: Refused, Address: "fe80::1"},
	{Name: "an IPv6 link-local address with a zone", Host: "[fe80::1%25lo]", Verdict: Refused, Address: "fe80::1%lo"},
	{Name: "IPv6 loopback with a zone", Host: "[::1%25lo]", Verdict: Refused},
	{Name: "a site-local address", Host: "[fec0::1]", Verdict: Refused, Address: "fec0::1"},
	{Name: "IPv6 multicast", Host: "[ff02::1]", Verdict: Refused, Address: "ff02::1"},
	{Name: "IPv6 discard", Host: "[100::1]", Verdict: Refused, Address: "100::1"},
	{Name: "IPv6 documentation", Host: "[2001:db8::1]", Verdict: Refused, Address: "2001:db8::1"},
	{Name: "IPv6 documentation's second network", Host: "[3fff::1]", Verdict: Refused, Address: "3fff::1"},
	{Name: "IPv6 benchmark", Host: "[2001:2::1]", Verdict: Refused, Address: "2001:2::1"},
	{Name: "unassigned IPv6", Host: "[4000::1]", Verdict: Refused, Address: "4000::1"},
}

// embeddedAddresses are IPv4 addresses embedded in IPv6 addresses.
var embeddedAddresses = []Case{
	{Name: "loopback mapped into IPv6", Host: "[::ffff:127.0.0.1]", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "loopback mapped into IPv6, in hex", Host: "[::FFFF:7F00:1]", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "loopback mapped into IPv6, in full", Host: "[0:0:0:0:0:ffff:7f00:0001]", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "metadata mapped into IPv6", Host: "[::ffff:169.254.169.254]", Verdict: Refused, Address: "169.254.169.254"},
	{Name: "Azure's wire server mapped into IPv6", Host: "[::ffff:168.63.129.16]", Verdict: Refused, Address: "168.63.129.16"},
	{Name: "the unspecified address mapped into IPv6", Host: "[::ffff:0.0.0.0]", Verdict: Refused, Address: "0.0.0.0"},
	{Name: "loopback as an IPv4-compatible IPv6 address", Host: "[::127.0.0.1]", Verdict: Refused, Address: "::7f00:1"},
	{Name: "a public address as an IPv4-compatible IPv6 address", Host: "[::93.184.216.34]", Verdict: Refused, Address: "::5db8:d822"},
	{Name: "loopback as an IPv4-translated IPv6 address (SIIT)", Host: "[::ffff:0:127.0.0.1]", Verdict: Refused, Address: "::ffff:0:7f00:1"},
	{Name: "loopback behind a NAT64", Host: "[64:ff9b::127.0.0.1]", Verdict: Refused, Address: "64:ff9b::7f00:1"},
	{Name: "metadata behind a NAT64", Host: "[64:ff9b::a9fe:a9fe]", Verdict: Refused, Address: "64:ff9b::a9fe:a9fe"},
	{Name: "a private address behind a NAT64", Host: "[64:ff9b::10.0.0.1]", Verdict: Refused, Address: "64:ff9b::a00:1"},
	{Name: "Azure's wire server behind a NAT64", Host: "[64:ff9b::168.63.129.16]", Verdict: Refused, Address: "64:ff9b::a83f:8110"},
	{Name: "a private address behind a local-use NAT64", Host: "[64:ff9b:1::10.0.0.1]", Verdict: Refused, Address: "64:ff9b:1::a00:1"},
	{Name: "a public address behind a local-use NAT64", Host: "[64:ff9b:1::93.184.216.34]", Verdict: Refused, Address: "64:ff9b:1::5db8:d822"},
	{Name: "loopback behind 6to4", Host: "[2002:7f00:1::]", Verdict: Refused, Address: "2002:7f00:1::"},
	{Name: "metadata behind 6to4", Host: "[2002:a9fe:a9fe::1]", Verdict: Refused, Address: "2002:a9fe:a9fe::1"},
	{Name: "a public address behind 6to4", Host: "[2002:5db8:d822::1]", Verdict: Refused, Address: "2002:5db8:d822::1"},
	{Name: "loopback behind Teredo", Host: "[2001:0:53aa:64c:0:0:80ff:fffe]", Verdict: Refused, Address: "2001:0:53aa:64c::80ff:fffe"},
}

// numericHosts are numbers that the C library reads as an address and other parsers
// reject or read differently.
var numericHosts = []Case{
	{Name: "loopback as one decimal number", Host: "2130706433", Verdict: Invalid},
	{Name: "loopback as one octal number", Host: "017700000001", Verdict: Invalid},
	{Name: "loopback as one hexadecimal number", Host: "0x7f000001", Verdict: Invalid},
	{Name: "loopback as one hexadecimal number in capitals", Host: "0X7F000001", Verdict: Invalid},
	{Name: "loopback as a number of more than 32 bits", Host: "6425673729", Verdict: Invalid},
	{Name: "metadata as one decimal number", Host: "2852039166", Verdict: Invalid},
	{Name: "a public address as one decimal number", Host: "1572395042", Verdict: Invalid},
	{Name: "a public address in hexadecimal", Host: "0x5d.0xb8.0xd8.0x22", Verdict: Invalid},
	{Name: "loopback in octal", Host: "0177.0.0.01", Verdict: Invalid},
	{Name: "loopback with leading zeros", Host: "127.000.000.001", Verdict: Invalid},
	{Name: "a private address that octal makes public", Host: "012.8.8.8", Verdict: Invalid},
	{Name: "loopback in hexadecimal", Host: "0x7f.0x0.0x0.0x1", Verdict: Invalid},
	{Name: "loopback in all three", Host: "0x7f.0.00.1", Verdict: Invalid},
	{Name: "loopback in two parts", Host: "127.1", Verdict: Invalid},
	{Name: "loopback in three parts", Host: "127.0.1", Verdict: Invalid},
	{Name: "metadata in three parts", Host: "169.254.43518", Verdict: Invalid},
	{Name: "the unspecified address as 0", Host: "0", Verdict: Invalid},
	{Name: "the unspecified address as 0x", Host: "0x", Verdict: Invalid},
	{Name: "an address of five parts", Host: "127.0.0.0.1", Verdict: Invalid},
	{Name: "a part above 255", Host: "127.0.0.257", Verdict: Invalid},
	{Name: "loopback with a dot at its end", Host: "127.0.0.1.", Verdict: Invalid},
	{Name: "a public address with a dot at its end", Host: "93.184.216.34.", Verdict: Invalid},
	{Name: "loopback as a number with a dot at its end", Host: "2130706433.", Verdict: Invalid},
	{Name: "a name that ends in a number", Host: "public.example.1", Verdict: Invalid},
	{Name: "loopback as one number in full-width digits", Host: "２１３０７０６４３３", Verdict: Invalid},

	{Name: "loopback in full-width digits", Host: "１２７.０.０.１", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "loopback with ideographic dots", Host: "127。0。0。1", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "loopback with half-width ideographic dots", Host: "127｡0｡0｡1", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "loopback in circled digits", Host: "①②⑦.⓪.⓪.①", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "loopback in mathematical digits", Host: "𝟏𝟐𝟕.𝟎.𝟎.𝟏", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "loopback with a soft hyphen", Host: "127.0\u00ad.0.1", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "loopback with a space of no width", Host: "127.0.0.1\u200b", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "loopback in full-width digits, percent-encoded", Host: "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1", Verdict: Refused, Address: "127.0.0.1"},
	{Name: "loopback with ideographic dots, percent-encoded", Host: "127%E3%80%820%E3%80%820%E3%80%821", Verdict: Refused, Address: "127.0.0.1"},
}

// malformedHosts are hosts on which URL parsers disagree.
var malformedHosts = []Case{
	{Name: "loopback percent-encoded", Host: "%31%32%37.0.0.1", Verdict: Invalid},
	{Name: "loopback with percent-encoded dots", Host: "127%2e0%2e0%2e1", Verdict: Invalid},
	{Name: "localhost percent-encoded", Host: "%6cocalhost", Verdict: Invalid},
	{Name: "brackets percent-encoded", Host: "%5B::1%5D", Verdict: Invalid},
	{Name: "a zero byte", Host: "127.0.0.1%00.public.example", Verdict: Invalid},
	{Name: "a tab", Host: "127.0.0.1\t", Verdict: Invalid},
	{Name: "a line break", Host: "public.example\r\nHost: inside", Verdict: Invalid},
	{Name: "a space", Host: "127.0.0.1 .public.example", Verdict: Invalid},
	{Name: "a joiner of no width", Host: "127.0.0.1\u200d", Verdict: Invalid},
	{Name: "IPv4 in brackets", Host: "[127.0.0.1]", Verdict: Invalid},
	{Name: "IPv6 without brackets", Host: "::1", Verdict: Invalid},
	{Name: "IPv6 in full-width digits", Host: "[::１]", Verdict: Invalid},
	{Name: "a bracket that is not closed", Host: "[::1", Verdict: Invalid},
	{Name: "a name after the brackets", Host: "[::1].public.example", Verdict: Invalid},
	{Name: "an address of the future", Host: "[v1.::1]", Verdict: Invalid},
	{Name: "no host", Host: "", Verdict: Invalid},
	{Name: "a dot", Host: ".", Verdict: Invalid},
	{Name: "an empty label", Host: "127..1", Verdict: Invalid},
	{Name: "two dots at the end", Host: "public.example..", Verdict: Invalid},
	{Name: "a star", Host: "*.public.example", Verdict: Invalid},
	{Name: "a comma", Host: "127.0.0.1,public.example", Verdict: Invalid},
	{Name: "a backslash before a public name", Host: `127.0.0.1\.public.example`, Verdict: Invalid},
	{Name: "a backslash in place of a user name", Host: `public.example\@127.0.0.1`, Verdict: Invalid, HasUserInfo: true},
	{Name: "a label of 64 letters", Host: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example", Verdict: Invalid},

	{Name: "loopback behind a public user name", Host: "public.example@127.0.0.1", Verdict: Refused, Address: "127.0.0.1", HasUserInfo: true},
	{Name: "loopback behind a public user name with a password", Host: "public.example:443@127.0.0.1", Verdict: Refused, Address: "127.0.0.1", HasUserInfo: true},
	{Name: "IPv6 loopback behind a user name", Host: "public.example@[::1]", Verdict: Refused, Address: "::1", HasUserInfo: true},
	{Name: "a public address behind a user name", Host: "127.0.0.1@93.184.216.34", Address: "93.184.216.34", HasUserInfo: true},
	{Name: "two user names", Host: "a@public.example@127.0.0.1", Verdict: Refused, Address: "127.0.0.1", HasUserInfo: true},
}
