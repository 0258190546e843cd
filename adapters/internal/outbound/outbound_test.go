package outbound_test

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

func TestAHostIsParsedBeforeItIsLookedUp(t *testing.T) {
	for _, c := range outboundtest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			u, err := url.Parse(c.URL("https", "1"))
			if err != nil {
				if c.Verdict != outboundtest.Invalid {
					t.Errorf("net/url: %v", err)
				}
				return
			}
			h, err := outbound.ParseHost(u.Hostname())
			if (err != nil) != (c.Verdict == outboundtest.Invalid) {
				t.Fatalf("got %+v, %v", h, err)
			}
			if err == nil && c.NeedsLookup != (len(h.KnownAddrs) == 0) {
				t.Errorf("the known addresses are %v", h.KnownAddrs)
			}
			if err == nil && !c.NeedsLookup && c.Address != "" && h.KnownAddrs[0].Unmap() != netip.MustParseAddr(c.Address) {
				t.Errorf("the known addresses are %v, want %s", h.KnownAddrs, c.Address)
			}
			if strings.ContainsFunc(h.Name, func(r rune) bool { return r > '~' }) {
				t.Errorf("the name %q is not ASCII", h.Name)
			}
		})
	}
	t.Run("a name is in lower case and keeps the dot at its end", func(t *testing.T) {
		if h, err := outbound.ParseHost("BÜCHER.Example."); err != nil || h.Name != "xn--bcher-kva.example." {
			t.Errorf("got %+v, %v", h, err)
		}
	})
	t.Run("a name has at most 253 characters", func(t *testing.T) {
		longest := strings.Repeat("a.", 126) + "a"
		if _, err := outbound.ParseHost(longest + "."); err != nil {
			t.Errorf("253: %v", err)
		}
		if _, err := outbound.ParseHost(longest + "a"); err == nil {
			t.Error("254 are accepted")
		}
	})
	t.Run("the error distinguishes a number from a malformed name", func(t *testing.T) {
		expect.Failed(outbound.ParseHost("127.1"))(t, "four decimal numbers")
		expect.Failed(outbound.ParseHost("a,b"))(t, "neither an address nor a name")
	})
}

func TestOnlyPublicAddressesAreAllowed(t *testing.T) {
	p := outbound.New(nil)
	for _, c := range outboundtest.Cases() {
		if c.Address == "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			to := netip.MustParseAddr(c.Address)
			reason := p.RefusalReason(to)
			if (reason == "") != (c.Verdict == outboundtest.Allowed) {
				t.Errorf("%s: the reason is %q", to, reason)
			}
			if strings.ContainsAny(reason, "0123456789") {
				t.Errorf("%q contains an address", reason)
			}
			network := "tcp6"
			if to.Is4() {
				network = "tcp4"
			}
			err := p.Control(network, netip.AddrPortFrom(to, 8443).String(), nil)
			if (err == nil) != (c.Verdict == outboundtest.Allowed) || err != nil && !errors.Is(err, outbound.ErrRefused) {
				t.Errorf("at the dial: %v", err)
			}
			if p.Exempts(to) {
				t.Error("is exempt by a policy without exempt networks")
			}
		})
	}
}

func TestAnExemptNetworkIsAllowed(t *testing.T) {
	for _, c := range []struct {
		name, exempt, address string
		exempts, refuses      bool
	}{
		{"an address in an exempt network is allowed", "10.0.0.0/8", "10.1.2.3", true, false},
		{"a public address beside it is allowed", "10.0.0.0/8", "11.1.2.3", false, false},
		{"another private network is refused", "10.0.0.0/8", "192.168.0.1", false, true},
		{"an exempt address mapped into IPv6 is allowed", "10.0.0.0/8", "::ffff:10.1.2.3", true, false},
		{"an exempt address behind a NAT64 is allowed", "10.0.0.0/8", "64:ff9b::a01:203", true, false},
		{"another private network behind a NAT64 is refused", "10.0.0.0/8", "64:ff9b::c0a8:1", false, true},
		{"an exempt NAT64 prefix is allowed", "64:ff9b::/96", "64:ff9b::c0a8:1", true, false},
		{"an exempt NAT64 prefix does not exempt IPv4", "64:ff9b::/96", "192.168.0.1", false, true},
		{"an exempt local NAT64 prefix is allowed", "64:ff9b:1::/48", "64:ff9b:1::a00:1", true, false},
		{"an exempt IPv6 network is allowed", "fd00::/8", "fd00::1", true, false},
		{"an exempt address with a zone is allowed", "fe80::/10", "fe80::1%eth0", true, false},
		{"Azure's wire server is allowed when it is exempt", "168.63.129.16/32", "168.63.129.16", true, false},
		{"all of IPv4 does not cover IPv6", "0.0.0.0/0", "::1", false, true},
		{"all of IPv6 does not cover IPv4", "::/0", "127.0.0.1", false, true},
		{"all of IPv6 does not cover mapped IPv4", "::/0", "::ffff:127.0.0.1", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := outbound.New([]netip.Prefix{netip.MustParsePrefix(c.exempt)})
			a := netip.MustParseAddr(c.address)
			expect.Equal(t, "exempt", p.Exempts(a), c.exempts)
			if got := p.RefusalReason(a); (got != "") != c.refuses {
				t.Errorf("the reason is %q", got)
			}
		})
	}
	t.Run("a later change of the list does not change the policy", func(t *testing.T) {
		list := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		p := outbound.New(list)
		list[0] = netip.MustParsePrefix("127.0.0.0/8")
		if p.Exempts(netip.MustParseAddr("127.0.0.1")) {
			t.Error("the policy changed")
		}
	})
}

func TestOnlyTCPToAnAddressIsDialed(t *testing.T) {
	p := outbound.New([]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")})
	for _, c := range [][2]string{
		{"udp4", "93.184.216.34:443"}, {"udp6", "[2606:4700:4700::1111]:443"}, {"unix", "/run/docker.sock"},
		{"tcp", "93.184.216.34:443"}, {"tcp4", ":443"}, {"tcp4", "public.example:443"}, {"tcp4", "93.184.216.34"}, {"tcp4", ""},
	} {
		if err := p.Control(c[0], c[1], nil); !errors.Is(err, outbound.ErrRefused) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestARefusalNamesTheKindOfAddress(t *testing.T) {
	reasons := map[string][]string{
		"a loopback address":               {"127.0.0.1", "::1", "64:ff9b::7f00:1", "::ffff:127.0.0.1"},
		"a private address":                {"10.0.0.1", "172.16.0.1", "192.168.0.1", "fd00::1", "64:ff9b::a00:1"},
		"a link-local or metadata address": {"169.254.169.254", "fe80::1", "fe80::1%eth0", "168.63.129.16"},
		"no particular address":            {"0.0.0.0", "::"},
		"a multicast address":              {"224.0.0.1", "ff02::1"},
		"a reserved address":               {"100.64.0.1", "240.0.0.1", "2002:7f00:1::", "64:ff9b:1::1", "::7f00:1"},
	}
	p := outbound.New(nil)
	for want, addresses := range reasons {
		for a := range slices.Values(addresses) {
			expect.Equal(t, a, p.RefusalReason(netip.MustParseAddr(a)), want)
		}
	}
}
