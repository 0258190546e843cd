package outbound

import (
	"errors"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Host is the host of a URL: an address, or a name to look up.
type Host struct {
	Name string // ASCII, in lower case; an address stays as it was written

	// KnownAddrs are the addresses known without a lookup: one for an address, two
	// for localhost, none for another name.
	KnownAddrs []netip.Addr
}

// internalDomains are the domains that no public host is in (RFC 6761, RFC 6762, RFC 8375, ICANN's
// .internal), and those that networks use all the same.
var internalDomains = []string{".local", ".internal", ".localhost", ".home.arpa", ".lan", ".home", ".corp", ".intranet", ".private", ".svc"}

// IsInternal reports whether only a private network knows the host's name. Such a name has one
// label, or is in a domain without public hosts.
func (h Host) IsInternal() bool {
	name := strings.TrimSuffix(h.Name, ".")
	if _, err := netip.ParseAddr(name); err == nil {
		return false
	}
	return !strings.Contains(name, ".") || slices.ContainsFunc(internalDomains, func(domain string) bool { return strings.HasSuffix(name, domain) })
}

// Errors of ParseHost, each the end of a sentence that begins with the host.
var (
	errMalformedHost = errors.New("is neither an address nor a name that can be looked up")
	errNumericHost   = errors.New("is a number in place of a host; write an IPv4 address as four decimal numbers without leading zeros, such as 93.184.216.34")
)

const maxNameLength = 253 // characters of a name, without the dot at its end (RFC 1035, section 2.3.4)

var (
	// Underscores are not allowed in host names, but many DNS names have them.
	namePattern   = regexp.MustCompile(`^([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$`)
	numberPattern = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)
)

var localhost = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// ParseHost parses the result of url.URL.Hostname as net/http does. It maps letters
// and digits of other scripts to ASCII (UTS 46), so １２７。０。０。１ is 127.0.0.1. The
// error says what is wrong, as the end of a sentence that begins with the host.
func ParseHost(s string) (Host, error) {
	ascii := s
	if strings.ContainsFunc(s, func(r rune) bool { return r > '~' }) {
		var err error
		if ascii, err = idna.Lookup.ToASCII(s); err != nil {
			return Host{}, errMalformedHost
		}
	}
	if a, err := netip.ParseAddr(ascii); err == nil {
		return Host{Name: ascii, KnownAddrs: []netip.Addr{a}}, nil
	}
	h := Host{Name: strings.ToLower(ascii)}
	relative := strings.TrimSuffix(h.Name, ".")
	switch {
	case len(relative) > maxNameLength || !namePattern.MatchString(relative):
		return Host{}, errMalformedHost
	case numberPattern.MatchString(relative):
		return Host{}, errNumericHost
	case relative == "localhost" || strings.HasSuffix(relative, ".localhost"):
		h.KnownAddrs = localhost
	}
	return h, nil
}
