//go:build cluster

package cluster_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// policySpec returns the specification of a rendered NetworkPolicy.
func policySpec(t *testing.T, all manifests, name string) (spec networkingv1.NetworkPolicySpec) {
	t.Helper()
	must(t, json.Unmarshal([]byte(jsonText(all.field("NetworkPolicy/stream-monitor-"+name+" spec"))), &spec))
	return spec
}

// allows reports whether a policy lets its pods connect to an address outside the cluster, by TCP.
func allows(t *testing.T, all manifests, policy, address string, port int) bool {
	t.Helper()
	ip := netip.MustParseAddr(address)
	return slices.ContainsFunc(policySpec(t, all, policy).Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
		return portMatches(rule.Ports, port) && (len(rule.To) == 0 || peersMatch(t, rule.To, ip))
	})
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

// podLabels are the paths of the labels of pods that the chart makes. A gateway labels its workers: adapters/runtime/kube.
var podLabels = map[string]string{
	"gateway":   "Deployment/stream-monitor-gateway spec template metadata labels ",
	"uninstall": "Job/stream-monitor-uninstall spec template metadata labels ",
	"test":      "Pod/stream-monitor-test metadata labels ",
}

func TestTheChartLetsPodsConnectOnlyToWhatTheyNeed(t *testing.T) {
	all := rendered(t)
	for policy, c := range map[string]struct{ public, private map[int]bool }{
		"worker": {map[int]bool{443: true, 80: false, 53: false},
			map[int]bool{53: false, 80: false, 443: false, 5432: false, 6443: false, 8080: false, 8081: false}},
		// Receivers of webhooks and mail servers are public, the API server and the database may be private.
		"gateway": {map[int]bool{443: true, 587: true},
			map[int]bool{443: true, 6443: true, 5432: true, 80: false, 587: false, 8081: false, 10250: false}},
		"uninstall": {map[int]bool{80: false}, map[int]bool{6443: true, 5432: false}},
		"test":      {map[int]bool{443: false, 8080: false}, map[int]bool{443: false, 8080: false}},
	} {
		t.Run(policy, func(t *testing.T) {
			spec := policySpec(t, all, policy)
			expectSameJSON(t, "the directions", jsonText(spec.PolicyTypes), `["Ingress", "Egress"]`)
			if policy != "gateway" && len(spec.Ingress) > 0 {
				t.Errorf("%s may connect to the pod", jsonText(spec.Ingress))
			}
			if got := spec.PodSelector.MatchLabels["app.kubernetes.io/component"]; got != policy {
				t.Errorf("the policy is about %s", got)
			}
			for label, want := range spec.PodSelector.MatchLabels {
				if got := all.field(podLabels[policy] + label); got != want && podLabels[policy] != "" {
					t.Errorf("the policy is about pods whose %s is %s, and it is %v", label, want, got)
				}
			}
			expect := func(addresses []string, ports map[int]bool) {
				for _, address := range addresses {
					for port, want := range ports {
						if got := allows(t, all, policy, address, port); got != want {
							t.Errorf("it may connect to port %d of %s: %t, want %t", port, address, got, want)
						}
					}
				}
			}
			expect(publicAddresses, c.public)
			expect(privateAddresses, c.private)
		})
	}
}

func TestTheChartLetsPodsConnectToWhatIsConfigured(t *testing.T) {
	byDefault := rendered(t)
	for _, c := range []struct {
		set, policy, address string
		port                 int
	}{
		{"secret.values.HTTPS_PROXY=http://u:p@proxy.example:3128", "worker", "10.0.0.7", 3128},
		{"secret.values.HTTP_PROXY=http://proxy.example", "worker", "10.0.0.7", 80},
		{`secret.values.EGRESS_PROXIES=direct\,socks5h://10.0.0.7\,https://a:8443`, "worker", "10.0.0.7", 1080},
		{`secret.values.EGRESS_PROXIES=direct\,socks5h://10.0.0.7\, https://a.b:8443`, "worker", "10.0.0.7", 8443},
		{"networkPolicy.workerEgress[0].to[0].ipBlock.cidr=192.0.2.7/32", "worker", "192.0.2.7", 3128},
		{"networkPolicy.databasePort=6432", "gateway", "10.0.0.7", 6432},
		{"networkPolicy.apiServerPorts={16443}", "gateway", "10.0.0.7", 16443},
		{`settings.CALLBACK_ALLOWED_NETWORKS=10.1.0.0/16\, fd00::/64`, "gateway", "10.1.2.3", 80},
		{`settings.CALLBACK_ALLOWED_NETWORKS=10.1.0.0/16\, fd00::/64`, "gateway", "fd00::7", 8080},
		{`settings.MEDIA_ALLOWED_NETWORKS=10.1.0.0/16\, fd00::/64`, "worker", "10.1.2.3", 8000},
		{`settings.MEDIA_ALLOWED_NETWORKS=10.1.0.0/16\, fd00::/64`, "gateway", "fd00::7", 8000},
		{"settings.EVIDENCE_S3_ENDPOINT=https://minio.example.com:9000", "gateway", "10.0.0.7", 9000},
		{"secret.values.HTTPS_PROXY=http://proxy.example:3128", "gateway", "10.0.0.7", 3128},
		{"networkPolicy.gatewayEgress[0].to[0].ipBlock.cidr=10.0.0.7/32", "gateway", "10.0.0.7", 25},
	} {
		if allows(t, byDefault, c.policy, c.address, c.port) {
			t.Errorf("without %s a %s may connect to port %d of %s", c.set, c.policy, c.port, c.address)
		}
		all := rendered(t, c.set)
		if !allows(t, all, c.policy, c.address, c.port) {
			t.Errorf("with %s a %s may not connect to port %d of %s", c.set, c.policy, c.port, c.address)
		}
		if strings.Contains(c.set, "workerEgress") && allows(t, all, "worker", "8.8.8.8", 443) {
			t.Error("networkPolicy.workerEgress does not replace the public addresses")
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
		all := rendered(t, "secret.values.DB_DSN="+dsn)
		for _, port := range []int{1234, 5432, 6432, 6433} {
			if got := allows(t, all, "gateway", "10.0.0.7", port); got != slices.Contains(want, port) {
				t.Errorf("with %s a gateway may connect to port %d: %t", dsn, port, got)
			}
		}
	}
	all, err := render(t, tag, "secret.existingSecret=keys", "tls.existingSecret=certificate")
	must(t, err)
	if !allows(t, all, "gateway", "10.0.0.7", 5432) {
		t.Error("with a Secret of the operator's own a gateway may not connect to port 5432")
	}
}
