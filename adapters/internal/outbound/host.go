package outbound

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

// Host is the host of a URL as it is connected to: an address, or a name to be
// looked up.
type Host struct {
	Name string // ASCII, in lower case; of an address: the address as it was written

	// Known are the addresses that it has without being looked up: one of an
	// address, two of localhost, none of another name.
	Known []netip.Addr
}

// Why there is no such host. They are the ends of sentences that begin with
// the host.
var (
	errForm   = errors.New("is neither an address nor a name that can be looked up")
	errNumber = errors.New("is a number in place of a host; write an IPv4 address as four decimal numbers without leading zeros, such as 93.184.216.34")
)

const maxName = 253 // characters of a name, without the dot at its end (RFC 1035, section 2.3.4)

var (
	// Underscores are in no host's name, and in many that are looked up.
	name   = regexp.MustCompile(`^([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$`)
	number = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)
)

var localhost = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// ParseHost reads what url.URL.Hostname gives, as net/http does: letters and
// digits of other scripts become those of ASCII (UTS 46), so that １２７。０。０。１
// is the address it looks like. The error says what is wrong, as the end of a
// sentence that begins with the host.
func ParseHost(s string) (Host, error) {
	ascii := s
	if strings.ContainsFunc(s, func(r rune) bool { return r > '~' }) {
		var err error
		if ascii, err = idna.Lookup.ToASCII(s); err != nil {
			return Host{}, errForm
		}
	}
	if a, err := netip.ParseAddr(ascii); err == nil {
		return Host{Name: ascii, Known: []netip.Addr{a}}, nil
	}
	h := Host{Name: strings.ToLower(ascii)}
	relative := strings.TrimSuffix(h.Name, ".")
	switch {
	case len(relative) > maxName || !name.MatchString(relative):
		return Host{}, errForm
	case number.MatchString(relative):
		return Host{}, errNumber
	case relative == "localhost" || strings.HasSuffix(relative, ".localhost"):
		h.Known = localhost
	}
	return h, nil
}
