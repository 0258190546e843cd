package webhook

import (
	"fmt"
	"net/netip"
	"strings"
)

// maxNetworks is the maximum of networks in a setting.
const maxNetworks = 256

// ParseNetworks parses CIDRs and single addresses separated by commas, the form of
// CALLBACK_ALLOWED_NETWORKS (decision A2). A blank text means no network. The error is the
// end of a sentence that names the setting, and says what is accepted.
func ParseNetworks(s string) ([]netip.Prefix, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	parts := strings.Split(s, ",")
	if len(parts) > maxNetworks {
		return nil, fmt.Errorf("these are %d networks; accepted are at most %d", len(parts), maxNetworks)
	}
	out := make([]netip.Prefix, 0, len(parts))
	for _, part := range parts {
		p, err := parseNetwork(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

func parseNetwork(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		a, notAddr := netip.ParseAddr(s)
		if notAddr != nil {
			return p, fmt.Errorf("%.60q is not a network; accepted are CIDRs and addresses separated by commas, such as 10.0.0.0/8,fd00::/8", s)
		}
		p = netip.PrefixFrom(a.WithZone(""), a.BitLen())
	}
	if p.Addr().Is4In6() { // matches nothing, because IPv4 addresses are compared in their IPv4 form
		form := fmt.Sprintf("%.60q is an IPv4 network in the form of an IPv6 one", s)
		if v4 := p.Bits() - 96; v4 >= 0 {
			return p, fmt.Errorf("%s; write %s", form, netip.PrefixFrom(p.Addr().Unmap(), v4).Masked())
		}
		return p, fmt.Errorf("%s; accepted are CIDRs such as 10.0.0.0/8,fd00::/8", form)
	}
	return p, nil
}
