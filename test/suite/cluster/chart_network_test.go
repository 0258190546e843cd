//go:build cluster

package cluster_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// networkPolicy returns a rendered NetworkPolicy.
func networkPolicy(t *testing.T, all map[string]manifest, name string) *networkingv1.NetworkPolicy {
	t.Helper()
	m, found := all[name]
	if !found {
		t.Fatalf("the chart has no %s", name)
	}
	b, err := json.Marshal(m)
	must(t, err)
	var p networkingv1.NetworkPolicy
	must(t, json.Unmarshal(b, &p))
	return &p
}

// allows reports whether rules let a pod connect to an address outside the cluster, by TCP.
func allows(t *testing.T, rules []networkingv1.NetworkPolicyEgressRule, address string, port int) bool {
	t.Helper()
	ip := netip.MustParseAddr(address)
	for _, rule := range rules {
		if portMatches(rule.Ports, port) && (len(rule.To) == 0 || peersMatch(t, rule.To, ip)) {
			return true
		}
	}
	return false
}

func portMatches(ports []networkingv1.NetworkPolicyPort, port int) bool {
	for _, p := range ports {
		if (p.Protocol == nil || *p.Protocol == corev1.ProtocolTCP) && (p.Port == nil || *p.Port == intstr.FromInt32(int32(port))) {
			return true
		}
	}
	return len(ports) == 0
}

func peersMatch(t *testing.T, peers []networkingv1.NetworkPolicyPeer, ip netip.Addr) bool {
	t.Helper()
	for _, peer := range peers {
		if peer.IPBlock == nil || !within(t, peer.IPBlock.CIDR, ip) {
			continue
		}
		excepted := false
		for _, except := range peer.IPBlock.Except {
			excepted = excepted || within(t, except, ip)
		}
		if !excepted {
			return true
		}
	}
	return false
}

func within(t *testing.T, cidr string, ip netip.Addr) bool {
	t.Helper()
	prefix, err := netip.ParsePrefix(cidr)
	must(t, err)
	if canonical := prefix.Masked().String(); canonical != cidr {
		t.Errorf("%s is not written as %s", cidr, canonical)
	}
	return prefix.Contains(ip)
}

// privateAddresses are addresses that nothing on the Internet has: of clusters, hosts,
// clouds' metadata, and IPv4 ones in IPv6.
var privateAddresses = []string{
	"0.0.0.1", "10.96.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "169.254.169.254", "168.63.129.16", "172.16.0.1", "172.31.255.255",
	"192.0.0.192", "192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
	"::1", "fd00:ec2::254", "fc00::1", "fe80::1", "fec0::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254",
	"64:ff9b::172.16.0.1", "64:ff9b::192.168.1.1", "64:ff9b:1::1", "2002:a00:1::1",
}

// publicAddresses are beside private networks.
var publicAddresses = []string{"8.8.8.8", "142.250.0.1", "11.0.0.1", "172.32.0.1", "100.63.255.255", "192.169.0.1", "223.255.255.255", "2a00:1450::1", "64:ff9b::8.8.8.8"}

func TestTheChartLetsWorkersConnectOnlyToDNSTheGatewayAndPublicAddresses(t *testing.T) {
	all := rendered(t)
	p := networkPolicy(t, all, "NetworkPolicy/stream-monitor-worker")
	expectSameJSON(t, "the directions", jsonText(p.Spec.PolicyTypes), `["Ingress", "Egress"]`)
	if len(p.Spec.Ingress) > 0 {
		t.Errorf("%s may connect to workers", jsonText(p.Spec.Ingress))
	}
	expectSameJSON(t, "whom it is about", jsonText(p.Spec.PodSelector.MatchLabels),
		`{"app": "stream-monitor", "app.kubernetes.io/instance": "stream-monitor", "app.kubernetes.io/component": "worker"}`)
	rules := p.Spec.Egress
	for _, address := range publicAddresses {
		if !allows(t, rules, address, 443) {
			t.Errorf("a worker may not connect to port 443 of %s", address)
		}
		if allows(t, rules, address, 80) || allows(t, rules, address, 53) {
			t.Errorf("a worker may connect to other ports of %s", address)
		}
	}
	for _, address := range privateAddresses {
		for _, port := range []int{53, 80, 443, 5432, 6443, 8080, 8081} {
			if allows(t, rules, address, port) {
				t.Errorf("a worker may connect to port %d of %s", port, address)
			}
		}
	}
	expectSameJSON(t, "name servers", jsonText(rules[0]), `{
		"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
		"to": [{"namespaceSelector": {}}, {"ipBlock": {"cidr": "169.254.20.10/32"}}]}`)
	expectSameJSON(t, "the gateway", jsonText(rules[1]), `{
		"ports": [{"port": 8081, "protocol": "TCP"}],
		"to": [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "stream-monitor", "app.kubernetes.io/instance": "stream-monitor",
			"app.kubernetes.io/component": "gateway"}}}]}`)
}

func TestTheChartLetsWorkersConnectToTheirProxies(t *testing.T) {
	rules := func(set ...string) []networkingv1.NetworkPolicyEgressRule {
		return networkPolicy(t, rendered(t, set...), "NetworkPolicy/stream-monitor-worker").Spec.Egress
	}
	for proxy, port := range map[string]int{
		"secret.values.HTTPS_PROXY=http://u:p@proxy.example:3128":                    3128,
		"secret.values.HTTP_PROXY=http://proxy.example":                              80,
		`secret.values.EGRESS_PROXIES=direct\,socks5h://10.0.0.7\,https://a:8443`:    1080,
		`secret.values.EGRESS_PROXIES=direct\,socks5h://10.0.0.7\, https://a.b:8443`: 8443,
	} {
		if !allows(t, rules(proxy), "10.0.0.7", port) {
			t.Errorf("with %s a worker may not connect to the proxy", proxy)
		}
	}
	own := rules("networkPolicy.workerEgress[0].to[0].ipBlock.cidr=192.0.2.7/32")
	if !allows(t, own, "192.0.2.7", 3128) || allows(t, own, "8.8.8.8", 443) || len(own) != 3 {
		t.Errorf("networkPolicy.workerEgress does not replace the public addresses: %s", jsonText(own))
	}
}

func TestTheChartLetsGatewaysConnectOnlyToWhatTheyNeed(t *testing.T) {
	p := networkPolicy(t, rendered(t), "NetworkPolicy/stream-monitor-gateway")
	expectSameJSON(t, "the directions", jsonText(p.Spec.PolicyTypes), `["Ingress", "Egress"]`)
	for _, address := range publicAddresses { // receivers of webhooks, mail servers
		if !allows(t, p.Spec.Egress, address, 587) || !allows(t, p.Spec.Egress, address, 443) {
			t.Errorf("a gateway may not connect to %s", address)
		}
	}
	for _, address := range privateAddresses {
		for port, want := range map[int]bool{80: false, 587: false, 8081: false, 10250: false, 443: true, 6443: true, 5432: true} {
			if got := allows(t, p.Spec.Egress, address, port); got != want {
				t.Errorf("a gateway may connect to port %d of %s: %t, want %t", port, address, got, want)
			}
		}
	}
	for _, c := range []struct {
		set     string
		address string
		port    int
	}{
		{"networkPolicy.databasePort=6432", "10.0.0.7", 6432},
		{"networkPolicy.apiServerPorts={16443}", "10.0.0.7", 16443},
		{`settings.CALLBACK_ALLOWED_NETWORKS=10.1.0.0/16\, fd00::/64`, "10.1.2.3", 80},
		{`settings.CALLBACK_ALLOWED_NETWORKS=10.1.0.0/16\, fd00::/64`, "fd00::7", 8080},
		{"settings.EVIDENCE_S3_ENDPOINT=https://minio.example.com:9000", "10.0.0.7", 9000},
		{"secret.values.HTTPS_PROXY=http://proxy.example:3128", "10.0.0.7", 3128},
		{"networkPolicy.gatewayEgress[0].to[0].ipBlock.cidr=10.0.0.7/32", "10.0.0.7", 25},
	} {
		if allows(t, p.Spec.Egress, c.address, c.port) {
			t.Errorf("without %s a gateway may connect to port %d of %s", c.set, c.port, c.address)
		}
		if !allows(t, networkPolicy(t, rendered(t, c.set), "NetworkPolicy/stream-monitor-gateway").Spec.Egress, c.address, c.port) {
			t.Errorf("with %s a gateway may not connect to port %d of %s", c.set, c.port, c.address)
		}
	}
}

func TestTheChartLetsGatewaysConnectToThePortsOfTheDatabase(t *testing.T) {
	for dsn, want := range map[string][]int{
		"postgres://u:p@h/d":                      {5432},
		"postgres://u:1234/p@h:6432/d":            {6432},
		`postgres://u:p@[fd00::7]:6432\,b:6433/d`: {6432, 6433},
		"postgres://u:p@h:6432":                   {6432},
		"postgres:///d?host=h&port=6432":          {6432},
		"host=h port=6432 user=u":                 {6432},
		"host=h user=u":                           {5432},
	} {
		rules := networkPolicy(t, rendered(t, "secret.values.DB_DSN="+dsn), "NetworkPolicy/stream-monitor-gateway").Spec.Egress
		for _, port := range []int{1234, 5432, 6432, 6433} {
			if got := allows(t, rules, "10.0.0.7", port); got != slices.Contains(want, port) {
				t.Errorf("with %s a gateway may connect to port %d: %t", dsn, port, got)
			}
		}
	}
	all, err := render(t, tag, "secret.existingSecret=keys", "tls.existingSecret=certificate")
	must(t, err)
	if !allows(t, networkPolicy(t, all, "NetworkPolicy/stream-monitor-gateway").Spec.Egress, "10.0.0.7", 5432) {
		t.Error("with a Secret of the operator's own a gateway may not connect to port 5432")
	}
}

func TestTheChartLetsItsOtherPodsConnectOnlyToWhatTheyNeed(t *testing.T) {
	all := rendered(t)
	uninstall := networkPolicy(t, all, "NetworkPolicy/stream-monitor-uninstall")
	if !allows(t, uninstall.Spec.Egress, "10.0.0.7", 6443) || allows(t, uninstall.Spec.Egress, "10.0.0.7", 5432) || allows(t, uninstall.Spec.Egress, "8.8.8.8", 80) {
		t.Errorf("the uninstalling pod may connect to %s, want the API server alone", jsonText(uninstall.Spec.Egress))
	}
	test := networkPolicy(t, all, "NetworkPolicy/stream-monitor-test")
	for _, address := range []string{"10.0.0.7", "8.8.8.8"} {
		if allows(t, test.Spec.Egress, address, 443) || allows(t, test.Spec.Egress, address, 8080) {
			t.Errorf("the pod of helm test may connect to %s", address)
		}
	}
	for name, p := range map[string]*networkingv1.NetworkPolicy{"uninstall": uninstall, "test": test} {
		expectSameJSON(t, name, jsonText(p.Spec.PolicyTypes), `["Ingress", "Egress"]`)
		if len(p.Spec.Ingress) > 0 {
			t.Errorf("%s may connect to the pod of %s", jsonText(p.Spec.Ingress), name)
		}
		if got := p.Spec.PodSelector.MatchLabels["app.kubernetes.io/component"]; got != name {
			t.Errorf("the policy of %s is about %s", name, got)
		}
	}
}

func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
