package webhook_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
)

func TestParseNetworksAcceptsCIDRsAndAddresses(t *testing.T) {
	for text, want := range map[string][]string{
		" ":                             nil,
		"10.1.2.3/8, fd00::1/8":         {"10.0.0.0/8", "fd00::/8"},
		"10.1.2.3,fd00::1,fe80::1%eth0": {"10.1.2.3/32", "fd00::1/128", "fe80::1/128"},
	} {
		var got []string
		for _, n := range networks(t, text) {
			got = append(got, n.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	networks(t, "10.0.0.0/8"+strings.Repeat(",10.0.0.0/8", 255))
	for text, says := range map[string]string{
		"10.0.0.0/33":  `"10.0.0.0/33" is not a network; accepted are CIDRs`,
		"localhost":    "accepted are CIDRs and addresses",
		"10.0.0.0/8,,": `"" is not a network`,
		strings.Repeat("10.0.0.0/8,", 256) + "10.0.0.0/8": "accepted are at most 256",

		// These match no address, because IPv4 addresses are compared in their IPv4
		// form.
		"::ffff:10.0.0.0/104":    `"::ffff:10.0.0.0/104" is an IPv4 network in the form of an IPv6 one; write 10.0.0.0/8`,
		"::ffff:10.1.2.3":        "write 10.1.2.3/32",
		"fd00::/8,::ffff:0:0/96": "write 0.0.0.0/0",
		"::ffff:10.0.0.0/90":     "accepted are CIDRs",
	} {
		if _, err := webhook.ParseNetworks(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.30s: got %v, want %q", text, err, says)
		}
	}
}
