//go:build cluster

package cluster_test

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"
)

// apart puts the workers into a namespace of their own.
const apart = "worker.namespace=streams"

func TestTheChartPutsWorkersIntoTheirOwnNamespace(t *testing.T) {
	all := rendered(t, apart)
	var there []string
	for name := range all {
		if in, found := strings.CutPrefix(name, "streams/"); found {
			there = append(there, in)
		}
	}
	slices.Sort(there)
	// Nothing there has the authority's key, the database or a key of the public API.
	want := []string{"NetworkPolicy/stream-monitor-default", "NetworkPolicy/stream-monitor-worker", "Role/stream-monitor-gateway", "Role/stream-monitor-uninstall",
		"RoleBinding/stream-monitor-gateway", "RoleBinding/stream-monitor-uninstall", "Secret/stream-monitor-worker", "Secret/stream-monitor-worker-ca"}
	if !slices.Equal(there, want) {
		t.Errorf("in the workers' namespace are %q, want %q", there, want)
	}
	if keys := keysOf(all["streams/Secret/stream-monitor-worker"]); len(keys) > 0 {
		t.Errorf("beside the workers are %q; each has a token in its pod", keys)
	}
	expectSameJSON(t, "the certificates beside the workers", jsonText(keysOf(all["streams/Secret/stream-monitor-worker-ca"])), `["ca.crt"]`)
	if a, b := all["streams/Secret/stream-monitor-worker-ca"].field("data", "ca.crt"), all["Secret/stream-monitor-tls"].field("data", "ca.crt"); a != b {
		t.Error("workers trust another authority than the gateway's")
	}
	for name, want := range map[string]any{"WORKER_NAMESPACE": "streams", "WORKER_SECRET": "stream-monitor-worker", "WORKER_CA_SECRET": "stream-monitor-worker-ca",
		"WORKER_GATEWAY_URL": "https://stream-monitor-internal.stream-monitor.svc:8081"} {
		if got := gatewayConfig(all).field("data", name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func keysOf(secret manifest) []string {
	data, _ := secret.field("data").(map[string]any)
	return slices.Sorted(maps.Keys(data))
}

func TestTheChartGivesTheGatewayRightsInTheWorkersNamespaceAlone(t *testing.T) {
	all := rendered(t, apart)
	if all["Role/stream-monitor-gateway"] != nil || all["RoleBinding/stream-monitor-gateway"] != nil {
		t.Error("the gateway has rights in its own namespace, where its keys are")
	}
	expectSameJSON(t, "the rules", jsonText(all["streams/Role/stream-monitor-gateway"].field("rules")), gatewayRules)
	expectSameJSON(t, "the subjects", jsonText(all["streams/RoleBinding/stream-monitor-gateway"].field("subjects")),
		`[{"kind": "ServiceAccount", "name": "stream-monitor-gateway", "namespace": "stream-monitor"}]`)
}

// An owner cannot be in another namespace, so nothing but the hook deletes the pods.
func TestTheChartUninstallsWorkersInTheirOwnNamespace(t *testing.T) {
	all := rendered(t, apart)
	container, _ := all["Job/stream-monitor-uninstall"].field("spec", "template", "spec", "containers", 0).(map[string]any)
	expectSameJSON(t, "its arguments", jsonText(container["args"]), `["uninstall", "--deployment=stream-monitor-gateway", "--namespace=stream-monitor"]`)
	expectSameJSON(t, "its environment", jsonText(container["env"]), `[{"name": "WORKER_NAMESPACE", "value": "streams"}, {"name": "WORKER_INSTANCE", "value": "stream-monitor"}]`)
	pods := `[{"apiGroups": [""], "resources": ["pods"], "verbs": ["delete", "get", "list", "watch"]}]`
	expectSameJSON(t, "its rights there", jsonText(all["streams/Role/stream-monitor-uninstall"].field("rules")), pods)
	expectSameJSON(t, "its subject there", jsonText(all["streams/RoleBinding/stream-monitor-uninstall"].field("subjects")),
		`[{"kind": "ServiceAccount", "name": "stream-monitor-uninstall", "namespace": "stream-monitor"}]`)
	if all["Role/stream-monitor-uninstall"] == nil || all["RoleBinding/stream-monitor-uninstall"] == nil {
		t.Error("the hook may not stop the gateways")
	}
	for _, name := range []string{"streams/Role/stream-monitor-uninstall", "streams/RoleBinding/stream-monitor-uninstall"} {
		if got := all[name].field("metadata", "annotations", "helm.sh/hook"); got != "pre-delete" {
			t.Errorf("%s is of the hook %v", name, got)
		}
	}
}

func TestTheChartsNetworkPoliciesCrossNamespaces(t *testing.T) {
	all := rendered(t, apart)
	expectSameJSON(t, "the default", jsonText(all["streams/NetworkPolicy/stream-monitor-default"].field("spec")), `{"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}`)
	expectSameJSON(t, "who may connect to the internal API", jsonText(all["NetworkPolicy/stream-monitor-gateway"].field("spec", "ingress", 1, "from")), `[{
		"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "streams"}},
		"podSelector": {"matchLabels": {"app": "stream-monitor", "app.kubernetes.io/instance": "stream-monitor", "app.kubernetes.io/component": "worker"}}}]`)
	expectSameJSON(t, "where workers find the gateway", jsonText(all["streams/NetworkPolicy/stream-monitor-worker"].field("spec", "egress", 1, "to")), `[{
		"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "stream-monitor"}},
		"podSelector": {"matchLabels": {"app.kubernetes.io/name": "stream-monitor", "app.kubernetes.io/instance": "stream-monitor", "app.kubernetes.io/component": "gateway"}}}]`)
}

func TestTheChartHandsProxiesToWorkersInTheirOwnNamespace(t *testing.T) {
	secret := rendered(t, apart, "secret.values.HTTPS_PROXY=http://u:p@proxy:3128", `secret.values.EGRESS_PROXIES=direct`)["streams/Secret/stream-monitor-worker"]
	expectSameJSON(t, "the keys", jsonText(keysOf(secret)), `["EGRESS_PROXIES", "HTTPS_PROXY"]`)
	if got := secret.field("data", "HTTPS_PROXY"); got != base64.StdEncoding.EncodeToString([]byte("http://u:p@proxy:3128")) {
		t.Errorf("HTTPS_PROXY is %v", got)
	}
}

// A Secret cannot be mounted from another namespace, so the operator names those there.
func TestTheChartUsesExistingSecretsInTheWorkersNamespace(t *testing.T) {
	existing := []string{tag, apart, "secret.existingSecret=keys", "tls.existingSecret=certificate"}
	for _, missing := range []struct{ set, want string }{
		{"worker.existingCASecret=authority", "worker.existingSecret is missing"},
		{"worker.existingSecret=worker-keys", "worker.existingCASecret is missing"},
	} {
		if _, err := render(t, append(slices.Clone(existing), missing.set)...); err == nil || !strings.Contains(err.Error(), missing.want) {
			t.Errorf("with only %s the error is %v, want one with %q", missing.set, err, missing.want)
		}
	}
	all, err := render(t, append(existing, "worker.existingSecret=worker-keys", "worker.existingCASecret=authority")...)
	must(t, err)
	for name, want := range map[string]any{"WORKER_SECRET": "worker-keys", "WORKER_CA_SECRET": "authority"} {
		if got := gatewayConfig(all).field("data", name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for name := range all {
		if strings.Contains(name, "Secret/") {
			t.Errorf("the chart makes %s", name)
		}
	}
}
