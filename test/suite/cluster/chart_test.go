//go:build cluster

package cluster_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// manifests are Kubernetes objects, decoded from JSON. The keys are KIND/NAME, and
// NAMESPACE/KIND/NAME outside the release's namespace.
type manifests map[string]any

// field returns the value at a path, or nil. A path has words: the key of an object, then names
// of fields and indexes of lists.
func (m manifests) field(path string) any {
	v := any(map[string]any(m))
	for word := range strings.FieldsSeq(path) {
		switch in := v.(type) {
		case map[string]any:
			v = in[word]
		case []any:
			i, err := strconv.Atoi(word)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// render renders the chart with these values.
func render(t *testing.T, set ...string) (manifests, error) {
	t.Helper()
	return renderWith(t, []string{"-n", "stream-monitor", "--kube-version", "v1.34.0"}, set...)
}

// renderWith is render with other arguments of "helm template", among them -n NAMESPACE. The
// template of worker pods, a text in a ConfigMap, is decoded, too.
func renderWith(t *testing.T, args []string, set ...string) (manifests, error) {
	t.Helper()
	args = append([]string{"template", release, chart}, args...)
	out, err := run(t.Context(), "helm", append(args, setFlags(set)...)...)
	if err != nil {
		return nil, err
	}
	all := manifests{}
	for document := range strings.SplitSeq("\n"+out, "\n---\n") {
		var m map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &m); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		if m == nil { // only comments
			continue
		}
		metadata, _ := m["metadata"].(map[string]any)
		name := fmt.Sprintf("%v/%v", m["kind"], metadata["name"])
		if in := metadata["namespace"]; in != args[slices.Index(args, "-n")+1] {
			name = fmt.Sprintf("%v/%s", in, name)
		}
		if data, _ := m["data"].(map[string]any); data["pod.yaml"] != nil {
			var pod any
			must(t, yaml.UnmarshalStrict([]byte(data["pod.yaml"].(string)), &pod))
			data["pod.yaml"] = pod
		}
		all[name] = m
	}
	return all, nil
}

// setFlags returns the flags of helm for values.
func setFlags(set []string) (flags []string) {
	for _, one := range set {
		flags = append(flags, "--set", one)
	}
	return flags
}

const (
	dsn = "secret.values.DB_DSN=postgres://u:p@h:5432/d"
	tag = "image.tag=v1"
)

func rendered(t *testing.T, set ...string) manifests {
	t.Helper()
	all, err := render(t, append([]string{dsn, tag}, set...)...)
	must(t, err)
	return all
}

func TestTheChartPassesLintAndRenders(t *testing.T) {
	for name, set := range map[string][]string{
		"defaults":         {dsn},
		"without TLS":      {dsn, "tls.enabled=false"},
		"existing Secrets": {"secret.existingSecret=keys", "tls.existingSecret=certificate"},
		"all at once": {dsn, "autoscaling.enabled=false", "gateway.replicas=2", "service.type=LoadBalancer", "service.externalTrafficPolicy=Local",
			"networkPolicy.workerEgress[0].to[0].ipBlock.cidr=0.0.0.0/0", "image.pullSecrets[0].name=pull", "worker.nodeSelector.disk=ssd",
			"worker.tolerations[0].operator=Exists", "worker.resources.limits.memory=256Mi", "worker.podAnnotations.a=b",
			"gateway.extraEnv[0].name=A", "gateway.extraEnv[0].value=b", "settings.MAX_MONITORS=200", "settings.EVENT_RETENTION=30d",
			"ingress.enabled=true", "ingress.host=monitor.example.com"},
		"nothing optional": {dsn, "autoscaling.enabled=false", "podDisruptionBudget.enabled=false", "networkPolicy.enabled=false"},
	} {
		t.Run(name, func(t *testing.T) {
			set = append(set, tag)
			_, err := run(t.Context(), "helm", append([]string{"lint", "--strict", "--quiet", "--kube-version", "v1.34.0", chart}, setFlags(set)...)...)
			must(t, err)
			all, err := render(t, set...)
			must(t, err)
			if len(all) < 10 {
				t.Errorf("%d manifests, want at least 10", len(all))
			}
		})
	}
}

func TestTheChartStaysInItsNamespaceAndItsName(t *testing.T) {
	for name := range rendered(t, "fullnameOverride=other") {
		kind, of, _ := strings.Cut(name, "/")
		if !strings.HasPrefix(of, "other") || strings.HasPrefix(kind, "Cluster") {
			t.Errorf("%s is cluster-wide, in another namespace or has another name", name)
		}
	}
}

// apart puts the workers into a namespace of their own.
const apart = "worker.namespace=streams"

// Nothing beside the workers has the authority's key, the database or a key of the public API.
func TestTheChartPutsOnlyWhatWorkersNeedBesideThem(t *testing.T) {
	all := rendered(t, apart)
	there := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return !strings.HasPrefix(name, "streams/") })
	want := []string{"streams/NetworkPolicy/stream-monitor-default", "streams/NetworkPolicy/stream-monitor-worker",
		"streams/Role/stream-monitor-gateway", "streams/Role/stream-monitor-uninstall",
		"streams/RoleBinding/stream-monitor-gateway", "streams/RoleBinding/stream-monitor-uninstall",
		"streams/Secret/stream-monitor-worker", "streams/Secret/stream-monitor-worker-ca"}
	if !slices.Equal(there, want) {
		t.Errorf("in the workers' namespace are %q, want %q", there, want)
	}
	if keys, _ := all.field("streams/Secret/stream-monitor-worker data").(map[string]any); len(keys) > 0 {
		t.Errorf("beside the workers are %v; each has a token in its pod", keys)
	}
	expectSameJSON(t, "the certificates beside the workers", jsonText(all.field("streams/Secret/stream-monitor-worker-ca data")),
		`{"ca.crt": `+jsonText(all.field("Secret/stream-monitor-tls data ca.crt"))+`}`)
}

// Paths of the manifests.
const (
	gatewayPod    = "Deployment/stream-monitor-gateway spec template spec "
	hookPod       = "Job/stream-monitor-uninstall spec template spec "
	testPod       = "Pod/stream-monitor-test spec "
	workerPod     = "ConfigMap/stream-monitor-worker data pod.yaml spec "
	config        = "ConfigMap/stream-monitor-gateway data "
	gatewayPolicy = "NetworkPolicy/stream-monitor-gateway spec "
	workerPolicy  = "NetworkPolicy/stream-monitor-worker spec "
)

// gatewayRules are the rules of the Role in section 14.3.
const gatewayRules = `[
	{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete", "get", "list", "watch"]},
	{"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}
]`

func TestTheChartRenders(t *testing.T) {
	const (
		subject         = `[{"kind": "ServiceAccount", "name": "%s", "namespace": "stream-monitor"}]`
		securityContext = `{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}`
		workerLabels    = `{"app": "stream-monitor", "app.kubernetes.io/instance": "stream-monitor", "app.kubernetes.io/component": "worker"}`
		gatewayLabels   = `{"app.kubernetes.io/name": "stream-monitor", "app.kubernetes.io/instance": "stream-monitor", "app.kubernetes.io/component": "gateway"}`
		ingressRule     = `{"host": "monitor.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix",
			"backend": {"service": {"name": "stream-monitor", "port": {"number": %s}}}}]}}`
		dns = `{"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
			"to": [{"namespaceSelector": {}}, {"ipBlock": {"cidr": "169.254.20.10/32"}}]}`
		noDSN = "secret.values.DB_DSN="
	)
	digest := "sha256:" + strings.Repeat("0a", 32)
	ingress := func(set ...string) []string {
		return append(set, "ingress.enabled=true", "ingress.host=monitor.example.com")
	}
	nodeSelectors := func(want string) map[string]string {
		return map[string]string{gatewayPod + "nodeSelector": want, hookPod + "nodeSelector": want, testPod + "nodeSelector": want, workerPod + "nodeSelector": want}
	}
	for name, c := range map[string]struct {
		set  []string
		want map[string]string // JSON by path
	}{
		"by default what the specification demands": {nil, map[string]string{
			// Section 14.3.
			"Role/stream-monitor-gateway rules":           gatewayRules,
			"RoleBinding/stream-monitor-gateway subjects": fmt.Sprintf(subject, gateway),
			"RoleBinding/stream-monitor-gateway roleRef":  `{"kind": "Role", "name": "stream-monitor-gateway", "apiGroup": "rbac.authorization.k8s.io"}`,
			// Section 14.4. The autoscaler decides about replicas.
			"HorizontalPodAutoscaler/stream-monitor-gateway spec": `{
				"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "stream-monitor-gateway"},
				"minReplicas": 1, "maxReplicas": 3,
				"behavior": {"scaleUp": {"stabilizationWindowSeconds": 180}},
				"metrics": [
					{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
					{"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 80}}}
				]}`,
			// Section 8.6.
			"Service/stream-monitor-internal spec type": `"ClusterIP"`,
			// Section 8.7.
			gatewayPod + "containers 0 livenessProbe":  `{"httpGet": {"path": "/healthz", "port": "probes"}, "periodSeconds": 30, "timeoutSeconds": 5, "failureThreshold": 3}`,
			gatewayPod + "containers 0 readinessProbe": `{"httpGet": {"path": "/readyz", "port": "probes"}, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3}`,
			// Updates leave no gap.
			"Deployment/stream-monitor-gateway spec strategy": `{"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}`,
			"Deployment/stream-monitor-gateway spec replicas": `null`,
		}},
		"pods with the fewest rights": {nil, map[string]string{
			gatewayPod + "securityContext runAsNonRoot": `true`, gatewayPod + "containers 0 securityContext": securityContext,
			hookPod + "securityContext runAsNonRoot": `true`, hookPod + "containers 0 securityContext": securityContext,
		}},
		// A volume on a disk that outgrows its limit ends the pod. Tools fill caches.
		"a /tmp that does not end a gateway": {nil, map[string]string{
			gatewayPod + "volumes 0": `{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}`,
		}},
		"settings for the program": {[]string{"settings.MAX_MONITORS=2000", "settings.MISSING_WORKER=relaunch"}, map[string]string{
			config + "MAX_MONITORS": `"2000"`, config + "MISSING_WORKER": `"relaunch"`, config + "LOG_LEVEL": `null`, config + "EVENT_RETENTION": `null`,
			config + "WORKER_SECRET": `"stream-monitor"`, config + "WORKER_CA_SECRET": `"stream-monitor-tls"`, config + "WORKER_INSTANCE": `"stream-monitor"`,
			config + "WORKER_GATEWAY_URL": `"https://stream-monitor-internal.stream-monitor.svc:8081"`,
		}},
		"plain HTTP": {[]string{"tls.enabled=false"}, map[string]string{
			config + "WORKER_CA_SECRET": `null`, config + "TLS_CERT_FILE": `null`,
			config + "WORKER_GATEWAY_URL": `"http://stream-monitor-internal.stream-monitor.svc:8081"`,
			"Secret/stream-monitor-tls":   `null`, "Secret/stream-monitor-ca": `null`,
		}},
		"a digest rather than the tag": {[]string{"image.repository=here/it", "image.digest=" + digest}, map[string]string{
			config + "WORKER_IMAGE": `"here/it@` + digest + `"`,
		}},
		"no Secret beside the operator's own": {[]string{noDSN, "secret.existingSecret=keys", "tls.existingSecret=certificate"}, map[string]string{
			"Secret/stream-monitor": `null`, "Secret/stream-monitor-tls": `null`, "Secret/stream-monitor-ca": `null`,
			config + "WORKER_SECRET": `"keys"`, config + "WORKER_CA_SECRET": `"certificate"`,
		}},
		// A Secret cannot be mounted from another namespace, so the operator names those there.
		"no Secret beside the operator's own in the workers' namespace": {[]string{noDSN, apart, "secret.existingSecret=keys", "tls.existingSecret=certificate",
			"worker.existingSecret=worker-keys", "worker.existingCASecret=authority"}, map[string]string{
			"Secret/stream-monitor": `null`, "Secret/stream-monitor-tls": `null`, "Secret/stream-monitor-ca": `null`,
			"streams/Secret/stream-monitor-worker": `null`, "streams/Secret/stream-monitor-worker-ca": `null`,
			config + "WORKER_SECRET": `"worker-keys"`, config + "WORKER_CA_SECRET": `"authority"`,
		}},
		"workers in their own namespace": {[]string{apart}, map[string]string{
			config + "WORKER_NAMESPACE": `"streams"`, config + "WORKER_SECRET": `"stream-monitor-worker"`, config + "WORKER_CA_SECRET": `"stream-monitor-worker-ca"`,
			config + "WORKER_GATEWAY_URL": `"https://stream-monitor-internal.stream-monitor.svc:8081"`,
			// The gateway has no rights in its own namespace, where its keys are.
			"Role/stream-monitor-gateway": `null`, "RoleBinding/stream-monitor-gateway": `null`,
			"streams/Role/stream-monitor-gateway rules":           gatewayRules,
			"streams/RoleBinding/stream-monitor-gateway subjects": fmt.Sprintf(subject, gateway),
		}},
		// An owner cannot be in another namespace, so nothing but the hook deletes the pods.
		"a hook that uninstalls workers in their own namespace": {[]string{apart}, map[string]string{
			hookPod + "containers 0 args": `["uninstall", "--deployment=stream-monitor-gateway", "--namespace=stream-monitor"]`,
			hookPod + "containers 0 env":  `[{"name": "WORKER_NAMESPACE", "value": "streams"}, {"name": "WORKER_INSTANCE", "value": "stream-monitor"}]`,

			"streams/Role/stream-monitor-uninstall rules":                             `[{"apiGroups": [""], "resources": ["pods"], "verbs": ["delete", "get", "list", "watch"]}]`,
			"streams/Role/stream-monitor-uninstall metadata annotations helm.sh/hook": `"pre-delete"`,

			"streams/RoleBinding/stream-monitor-uninstall subjects":                          fmt.Sprintf(subject, "stream-monitor-uninstall"),
			"streams/RoleBinding/stream-monitor-uninstall metadata annotations helm.sh/hook": `"pre-delete"`,

			"Role/stream-monitor-uninstall kind": `"Role"`, "RoleBinding/stream-monitor-uninstall kind": `"RoleBinding"`, // it stops the gateways
		}},
		"proxies for workers in their own namespace": {[]string{apart, "secret.values.HTTPS_PROXY=http://u:p@proxy:3128", "secret.values.EGRESS_PROXIES=direct"}, map[string]string{
			"streams/Secret/stream-monitor-worker data": jsonText(map[string][]byte{"HTTPS_PROXY": []byte("http://u:p@proxy:3128"), "EGRESS_PROXIES": []byte("direct")}),
		}},
		"policies of workers": {nil, map[string]string{
			workerPolicy + "podSelector matchLabels": workerLabels,
			workerPolicy + "egress 0":                dns,
			workerPolicy + "egress 1":                `{"ports": [{"port": 8081, "protocol": "TCP"}], "to": [{"podSelector": {"matchLabels": ` + gatewayLabels + `}}]}`,
		}},
		"policies of gateways": {nil, map[string]string{
			gatewayPolicy + "podSelector matchLabels": gatewayLabels,
			gatewayPolicy + "ingress": `[{"ports": [{"port": "public", "protocol": "TCP"}]},
				{"ports": [{"port": "internal", "protocol": "TCP"}], "from": [{"podSelector": {"matchLabels": ` + workerLabels + `}}]}]`,
			gatewayPolicy + "egress 0": dns,
			gatewayPod + "containers 0 ports": `[{"name": "public", "containerPort": 8080, "protocol": "TCP"},
				{"name": "internal", "containerPort": 8081, "protocol": "TCP"}, {"name": "probes", "containerPort": 8082, "protocol": "TCP"}]`,
		}},
		"policies across namespaces": {[]string{apart}, map[string]string{
			"streams/NetworkPolicy/stream-monitor-default spec": `{"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}`,
			gatewayPolicy + "ingress 1 from": `[{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "streams"}},
				"podSelector": {"matchLabels": ` + workerLabels + `}}]`,
			"streams/" + workerPolicy + "egress 1 to": `[{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "stream-monitor"}},
				"podSelector": {"matchLabels": ` + gatewayLabels + `}}]`,
		}},
		"the configured ports of DNS": {[]string{"networkPolicy.workerEgress[0].to[0].ipBlock.cidr=0.0.0.0/0", "networkPolicy.dnsPorts={53,5353}"}, map[string]string{
			workerPolicy + "egress 0 ports": `[{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}, {"port": 5353, "protocol": "UDP"}, {"port": 5353, "protocol": "TCP"}]`,
		}},
		"a public API for everyone by default": {nil, map[string]string{gatewayPolicy + "ingress 0 from": `null`}},
		"a public API for the configured peers and helm test": {[]string{"networkPolicy.publicFrom[0].namespaceSelector.matchLabels.name=ingress"}, map[string]string{
			gatewayPolicy + "ingress 0 from": `[
				{"namespaceSelector": {"matchLabels": {"name": "ingress"}}},
				{"podSelector": {"matchLabels": {"app.kubernetes.io/instance": "stream-monitor", "app.kubernetes.io/component": "test"}}}]`,
			"Pod/stream-monitor-test metadata labels app.kubernetes.io/instance":  `"stream-monitor"`,
			"Pod/stream-monitor-test metadata labels app.kubernetes.io/component": `"test"`,
		}},

		"pods on nodes where the image runs": {nil, nodeSelectors(`{"kubernetes.io/arch": "amd64"}`)},
		"pods on arm64":                      {[]string{"image.architecture=arm64"}, nodeSelectors(`{"kubernetes.io/arch": "arm64"}`)},
		"pods on all nodes":                  {[]string{"image.architecture="}, nodeSelectors(`null`)},
		"an architecture beside other labels": {[]string{"gateway.nodeSelector.disk=ssd", "worker.nodeSelector.disk=ssd"},
			nodeSelectors(`{"kubernetes.io/arch": "amd64", "disk": "ssd"}`)},
		"the operator's own architecture": {[]string{`gateway.nodeSelector.kubernetes\.io/arch=s390x`, `worker.nodeSelector.kubernetes\.io/arch=s390x`},
			nodeSelectors(`{"kubernetes.io/arch": "s390x"}`)},

		"no Ingress by default": {nil, map[string]string{"Ingress/stream-monitor": `null`}},
		"an Ingress":            {ingress(), map[string]string{"Ingress/stream-monitor spec": `{"rules": [` + fmt.Sprintf(ingressRule, "443") + `]}`}},
		"an Ingress to plain HTTP": {ingress("tls.enabled=false"), map[string]string{
			"Ingress/stream-monitor spec": `{"rules": [` + fmt.Sprintf(ingressRule, "80") + `]}`,
		}},
		"an Ingress with everything": {ingress("ingress.className=nginx", "ingress.tlsSecret=web", "service.port=8443", "ingress.annotations.a=b"), map[string]string{
			"Ingress/stream-monitor spec": `{"ingressClassName": "nginx", "tls": [{"hosts": ["monitor.example.com"], "secretName": "web"}],
				"rules": [` + fmt.Sprintf(ingressRule, "8443") + `]}`,
			"Ingress/stream-monitor metadata annotations": `{"a": "b"}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			all := rendered(t, c.set...)
			for path, want := range c.want {
				expectSameJSON(t, path, jsonText(all.field(path)), want)
			}
		})
	}
}
