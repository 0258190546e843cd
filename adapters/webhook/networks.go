package webhook

import (
	"fmt"
	"net/netip"
	"strings"
)

// maxNetworks is how many networks CALLBACK_ALLOWED_NETWORKS may list.
const maxNetworks = 256

// ParseNetworks reads CALLBACK_ALLOWED_NETWORKS: CIDRs separated by commas,
// none by default (decision A2). Errors name the variable, the value and what
// is accepted.
func ParseNetworks(s string) ([]netip.Prefix, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	parts := strings.Split(s, ",")
	if len(parts) > maxNetworks {
		return nil, fmt.Errorf("CALLBACK_ALLOWED_NETWORKS lists %d networks; accepted are %d", len(parts), maxNetworks)
	}
	var out []netip.Prefix
	for _, part := range parts {
		part = strings.TrimSpace(part)
		p, err := netip.ParsePrefix(part)
		if err != nil || p.Addr().Is4In6() {
			return nil, fmt.Errorf("CALLBACK_ALLOWED_NETWORKS: %.60q is not a network; accepted are CIDRs separated by commas, "+
				"such as 10.0.0.0/8,fd00::/8, and for a single address 10.1.2.3/32", part)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// kind says in a word or two why an address is not for webhooks.
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
