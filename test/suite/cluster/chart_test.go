//go:build cluster

package cluster_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// gatewayRules are the rules of the Role in section 14.3.
const gatewayRules = `[
	{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete", "get", "list", "watch"]},
	{"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}
]`

// manifest is a Kubernetes manifest, decoded from JSON.
type manifest map[string]any

// field returns the value at a path of names and list indexes, or nil.
func (m manifest) field(path ...any) (v any) {
	v = map[string]any(m)
	for _, p := range path {
		switch step := p.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// render renders the chart with these values. The keys are KIND/NAME, and
// NAMESPACE/KIND/NAME outside the release's namespace.
func render(t *testing.T, set ...string) (map[string]manifest, error) {
	t.Helper()
	return renderWith(t, []string{"-n", "stream-monitor", "--kube-version", "v1.34.0"}, set...)
}

// renderWith is render with other arguments of "helm template", among them -n NAMESPACE.
func renderWith(t *testing.T, args []string, set ...string) (map[string]manifest, error) {
	t.Helper()
	args = append([]string{"template", release, chart}, args...)
	for _, one := range set {
		args = append(args, "--set", one)
	}
	out, err := run(t.Context(), "helm", args...)
	if err != nil {
		return nil, err
	}
	all := map[string]manifest{}
	for document := range strings.SplitSeq("\n"+out, "\n---\n") {
		var m manifest
		if err := yaml.UnmarshalStrict([]byte(document), &m); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		if m == nil { // only comments
			continue
		}
		name := m["kind"].(string) + "/" + m.field("metadata", "name").(string)
		if in := m.field("metadata", "namespace"); in != args[slices.Index(args, "-n")+1] {
			name = fmt.Sprintf("%v/%s", in, name)
		}
		all[name] = m
	}
	return all, nil
}

const (
	dsn = "secret.values.DB_DSN=postgres://u:p@h:5432/d"
	tag = "image.tag=v1"
)

func rendered(t *testing.T, set ...string) map[string]manifest {
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
			"gateway.extraEnv[0].name=A", "gateway.extraEnv[0].value=b", "settings.MAX_MONITORS=200", "settings.EVENT_RETENTION=30d"},
		"nothing optional": {dsn, "autoscaling.enabled=false", "podDisruptionBudget.enabled=false", "networkPolicy.enabled=false"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"lint", "--strict", "--quiet", "--kube-version", "v1.34.0", chart}
			set = append(set, tag)
			for _, one := range set {
				args = append(args, "--set", one)
			}
			_, err := run(t.Context(), "helm", args...)
			must(t, err)
			all, err := render(t, set...)
			must(t, err)
			if len(all) < 10 {
				t.Errorf("%d manifests, want at least 10", len(all))
			}
		})
	}
}

func TestTheChartFollowsTheSpecification(t *testing.T) {
	all := rendered(t)
	text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	for _, c := range []struct{ name, got, want string }{
		{"14.3, the rules", text(all["Role/stream-monitor-gateway"].field("rules")), gatewayRules},
		{"14.3, the subjects", text(all["RoleBinding/stream-monitor-gateway"].field("subjects")),
			`[{"kind": "ServiceAccount", "name": "stream-monitor-gateway", "namespace": "stream-monitor"}]`},
		{"14.3, the reference", text(all["RoleBinding/stream-monitor-gateway"].field("roleRef")),
			`{"kind": "Role", "name": "stream-monitor-gateway", "apiGroup": "rbac.authorization.k8s.io"}`},
		{"14.4", text(all["HorizontalPodAutoscaler/stream-monitor-gateway"].field("spec")), `{
			"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "stream-monitor-gateway"},
			"minReplicas": 1, "maxReplicas": 3,
			"behavior": {"scaleUp": {"stabilizationWindowSeconds": 180}},
			"metrics": [
				{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
				{"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 80}}}
			]}`},
		{"8.6, the internal Service", text(all["Service/stream-monitor-internal"].field("spec", "type")), `"ClusterIP"`},
		{"the update", text(all["Deployment/stream-monitor-gateway"].field("spec", "strategy")),
			`{"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}`},
		{"replicas, which are the HPA's", text(all["Deployment/stream-monitor-gateway"].field("spec", "replicas")), `null`},
		{"8.7, liveness", text(all["Deployment/stream-monitor-gateway"].field("spec", "template", "spec", "containers", 0, "livenessProbe")),
			`{"httpGet": {"path": "/healthz", "port": "probes"}, "periodSeconds": 30, "timeoutSeconds": 5, "failureThreshold": 3}`},
		{"8.7, readiness", text(all["Deployment/stream-monitor-gateway"].field("spec", "template", "spec", "containers", 0, "readinessProbe")),
			`{"httpGet": {"path": "/readyz", "port": "probes"}, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3}`},
	} {
		expectSameJSON(t, c.name, c.got, c.want)
	}
	for name, m := range all {
		if strings.HasPrefix(name, "Cluster") {
			t.Errorf("%s: the chart must not have cluster-wide objects", name)
		}
		if got := m.field("metadata", "namespace"); got != "stream-monitor" {
			t.Errorf("%s is in namespace %v", name, got)
		}
	}
	for _, name := range []string{"Deployment/stream-monitor-gateway", "Job/stream-monitor-uninstall"} {
		pod := all[name].field("spec", "template", "spec")
		if got := manifest(pod.(map[string]any)).field("securityContext", "runAsNonRoot"); got != true {
			t.Errorf("%s may run as root", name)
		}
		expectSameJSON(t, name+": its container", text(manifest(pod.(map[string]any)).field("containers", 0, "securityContext")),
			`{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}`)
	}
}

// stopTimeout adds up the time limits of a gateway's stop after draining, in
// seconds. It reads them from the code.
func stopTimeout(t *testing.T) (sum float64) {
	t.Helper()
	for _, limit := range []struct{ file, name string }{
		{"cmd/stream-monitor/gateway.go", "requestsLimit"},       // of the public API
		{"adapters/runtime/kube/podclient.go", "requestTimeout"}, // a creation in progress
		{"application/supervisor/config.go", "exchangeTimeout"},  // collecting the monitors to hand over
		{"cmd/stream-monitor/gateway.go", "workersLimit"},
		{"cmd/stream-monitor/gateway.go", "releaseLimit"},
		{"cmd/stream-monitor/gateway.go", "requestsLimit"}, // of the internal API
	} {
		code, err := os.ReadFile(filepath.Join("..", "..", "..", limit.file))
		must(t, err)
		found := regexp.MustCompile(`(?m)^\s*` + limit.name + `\s*= (\d+) \* time\.Second\b`).FindSubmatch(code)
		if found == nil {
			t.Fatalf("%s has no %s in seconds", limit.file, limit.name)
		}
		n, err := strconv.ParseFloat(string(found[1]), 64)
		must(t, err)
		sum += n
	}
	return sum
}

func TestTheChartGivesGatewaysTimeToStop(t *testing.T) {
	for _, c := range []struct {
		set                  []string
		drain, hook, atLeast float64
	}{
		{nil, 10, 240, 240},
		{[]string{"uninstall.timeoutSeconds=30"}, 10, 0, 30},
		{[]string{"uninstall.timeoutSeconds=3600"}, 10, 3600, 3600},
		{[]string{"gateway.drainSeconds=300"}, 300, 0, 240},
	} {
		t.Run(strings.Join(c.set, ","), func(t *testing.T) {
			all := rendered(t, c.set...)
			grace, _ := all["Deployment/stream-monitor-gateway"].field("spec", "template", "spec", "terminationGracePeriodSeconds").(float64)
			if needed := c.drain + stopTimeout(t); grace < needed {
				t.Errorf("a gateway that drains for %v s has %v s to stop, want at least %v s", c.drain, grace, needed)
			}
			hook, _ := all["Job/stream-monitor-uninstall"].field("spec", "activeDeadlineSeconds").(float64)
			if hook < max(c.atLeast, grace+60) || c.hook != 0 && hook != c.hook {
				t.Errorf("the uninstall hook has %v s, the gateways have %v s", hook, grace)
			}
		})
	}
}
