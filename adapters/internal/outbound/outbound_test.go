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
)

func TestCasesAreDistinctAndEnough(t *testing.T) {
	names, hosts := map[string]bool{}, map[string]bool{}
	for _, c := range outboundtest.Cases() {
		if names[c.Name] || hosts[c.Host] {
			t.Errorf("%q, %q is there twice", c.Name, c.Host)
		}
		names[c.Name], hosts[c.Host] = true, true
	}
	if len(names) < 60 {
		t.Errorf("%d cases", len(names))
	}
}

// What is known of a host before it is looked up.
func TestParseHost(t *testing.T) {
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
			if err == nil && c.ByName != (len(h.Known) == 0) {
				t.Errorf("known are %v", h.Known)
			}
			if err == nil && !c.ByName && c.Leads != "" && h.Known[0].Unmap() != netip.MustParseAddr(c.Leads) {
				t.Errorf("known are %v, want %s", h.Known, c.Leads)
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
	t.Run("a number is told from rubbish", func(t *testing.T) {
		if _, err := outbound.ParseHost("127.1"); err == nil || !strings.Contains(err.Error(), "four decimal numbers") {
			t.Errorf("127.1: %v", err)
		}
		if _, err := outbound.ParseHost("a,b"); err == nil || !strings.Contains(err.Error(), "neither an address nor a name") {
			t.Errorf("a,b: %v", err)
		}
	})
}

func TestPolicy(t *testing.T) {
	p := outbound.New(nil)
	for _, c := range outboundtest.Cases() {
		if c.Leads == "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			to := netip.MustParseAddr(c.Leads)
			why := p.Refuses(to)
			if (why == "") != (c.Verdict == outboundtest.Outside) {
				t.Errorf("%s: refused as %q", to, why)
			}
			if strings.ContainsAny(why, "0123456789") {
				t.Errorf("%q shows an address", why)
			}
			network := "tcp6"
			if to.Is4() {
				network = "tcp4"
			}
			err := p.Control(network, netip.AddrPortFrom(to, 8443).String(), nil)
			if (err == nil) != (c.Verdict == outboundtest.Outside) || err != nil && !errors.Is(err, outbound.ErrRefused) {
				t.Errorf("at the dial: %v", err)
			}
			if p.Lists(to) {
				t.Error("is listed where nothing is")
			}
		})
	}
}

func TestPolicyWithNetworks(t *testing.T) {
	for _, c := range []struct {
		name, listed, address string
		lists, refuses        bool
	}{
		{"what is listed is let go", "10.0.0.0/8", "10.1.2.3", true, false},
		{"what is beside it is refused", "10.0.0.0/8", "11.1.2.3", false, false},
		{"another private network is refused", "10.0.0.0/8", "192.168.0.1", false, true},
		{"what is listed is let go in disguise", "10.0.0.0/8", "::ffff:10.1.2.3", true, false},
		{"what is listed is let go by NAT64", "10.0.0.0/8", "64:ff9b::a01:203", true, false},
		{"another by NAT64 is refused", "10.0.0.0/8", "64:ff9b::c0a8:1", false, true},
		{"a NAT64 that is listed is let go", "64:ff9b::/96", "64:ff9b::c0a8:1", true, false},
		{"and nothing else is", "64:ff9b::/96", "192.168.0.1", false, true},
		{"a NAT64 of one's own that is listed is let go", "64:ff9b:1::/48", "64:ff9b:1::a00:1", true, false},
		{"an IPv6 network that is listed is let go", "fd00::/8", "fd00::1", true, false},
		{"with a zone too", "fe80::/10", "fe80::1%eth0", true, false},
		{"Azure's wire server too, where it is listed", "168.63.129.16/32", "168.63.129.16", true, false},
		{"all of IPv4 is not IPv6", "0.0.0.0/0", "::1", false, true},
		{"all of IPv6 is not IPv4", "::/0", "127.0.0.1", false, true},
		{"nor IPv4 in disguise", "::/0", "::ffff:127.0.0.1", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := outbound.New([]netip.Prefix{netip.MustParsePrefix(c.listed)})
			a := netip.MustParseAddr(c.address)
			if got := p.Lists(a); got != c.lists {
				t.Errorf("lists: %v", got)
			}
			if got := p.Refuses(a); (got != "") != c.refuses {
				t.Errorf("refused as %q", got)
			}
		})
	}
	t.Run("the list is the policy's own", func(t *testing.T) {
		list := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		p := outbound.New(list)
		list[0] = netip.MustParsePrefix("127.0.0.0/8")
		if p.Lists(netip.MustParseAddr("127.0.0.1")) {
			t.Error("it changed")
		}
	})
}

func TestControlWantsTCPToAnAddress(t *testing.T) {
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

// The kinds are what a caller is told.
func TestKinds(t *testing.T) {
	kinds := map[string][]string{
		"a loopback address":               {"127.0.0.1", "::1", "64:ff9b::7f00:1", "::ffff:127.0.0.1"},
		"a private address":                {"10.0.0.1", "172.16.0.1", "192.168.0.1", "fd00::1", "64:ff9b::a00:1"},
		"a link-local or metadata address": {"169.254.169.254", "fe80::1", "fe80::1%eth0", "168.63.129.16"},
		"no particular address":            {"0.0.0.0", "::"},
		"a multicast address":              {"224.0.0.1", "ff02::1"},
		"a reserved address":               {"100.64.0.1", "240.0.0.1", "2002:7f00:1::", "64:ff9b:1::1", "::7f00:1"},
	}
	p := outbound.New(nil)
	for want, addresses := range kinds {
		for a := range slices.Values(addresses) {
			if got := p.Refuses(netip.MustParseAddr(a)); got != want {
				t.Errorf("%s is %q, want %q", a, got, want)
			}
		}
	}
}
