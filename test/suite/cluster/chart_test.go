//go:build cluster

package cluster_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// rights is the Role of section 14.3.
const rights = `[
	{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete", "get", "list", "watch"]},
	{"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}
]`

// made is a manifest, as JSON.
type made map[string]any

// at follows a path of names, and of numbers in lists.
func (m made) at(path ...any) (v any) {
	v = map[string]any(m)
	for _, p := range path {
		switch step := p.(type) {
		case string:
			of, _ := v.(map[string]any)
			v = of[step]
		case int:
			of, _ := v.([]any)
			if step >= len(of) {
				return nil
			}
			v = of[step]
		}
	}
	return v
}

// render renders the chart as it would be installed; the manifests are by kind
// and name.
func render(t *testing.T, set ...string) (map[string]made, error) {
	t.Helper()
	return renderedBy(t, []string{"-n", "stream-monitor", "--kube-version", "v1.34.0"}, set...)
}

// renderedBy is render with other arguments of "helm template".
func renderedBy(t *testing.T, args []string, set ...string) (map[string]made, error) {
	t.Helper()
	args = append([]string{"template", release, chart}, args...)
	for _, one := range set {
		args = append(args, "--set", one)
	}
	out, err := run(t.Context(), "helm", args...)
	if err != nil {
		return nil, err
	}
	// kubectl reads YAML, so that this needs not.
	list, err := fed(t.Context(), out, "kubectl", "create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-")
	if err != nil {
		return nil, err
	}
	all := map[string]made{}
	for dec := json.NewDecoder(strings.NewReader(list)); dec.More(); {
		var m made
		if err := dec.Decode(&m); err != nil {
			return nil, err
		}
		all[m["kind"].(string)+"/"+m.at("metadata", "name").(string)] = m
	}
	return all, nil
}

const (
	dsn = "secret.values.DB_DSN=postgres://u:p@h:5432/d"
	tag = "image.tag=v1"
)

func rendered(t *testing.T, set ...string) map[string]made {
	t.Helper()
	all, err := render(t, append([]string{dsn, tag}, set...)...)
	must(t, err)
	return all
}

func TestTheChartIsWellMade(t *testing.T) {
	for name, set := range map[string][]string{
		"as it is":        {dsn},
		"without TLS":     {dsn, "tls.enabled=false"},
		"others' Secrets": {"secret.existingSecret=keys", "tls.existingSecret=certificate"},
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
				t.Errorf("%d manifests", len(all))
			}
		})
	}
}

func TestTheChartIsTheSpecifications(t *testing.T) {
	all := rendered(t)
	text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	for _, c := range []struct{ what, got, want string }{
		{"14.3, the rules", text(all["Role/stream-monitor-gateway"].at("rules")), rights},
		{"14.3, the subjects", text(all["RoleBinding/stream-monitor-gateway"].at("subjects")),
			`[{"kind": "ServiceAccount", "name": "stream-monitor-gateway", "namespace": "stream-monitor"}]`},
		{"14.3, the reference", text(all["RoleBinding/stream-monitor-gateway"].at("roleRef")),
			`{"kind": "Role", "name": "stream-monitor-gateway", "apiGroup": "rbac.authorization.k8s.io"}`},
		{"14.4", text(all["HorizontalPodAutoscaler/stream-monitor-gateway"].at("spec")), `{
			"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "stream-monitor-gateway"},
			"minReplicas": 1, "maxReplicas": 3,
			"metrics": [
				{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
				{"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 80}}}
			]}`},
		{"8.6, the internal Service", text(all["Service/stream-monitor-internal"].at("spec", "type")), `"ClusterIP"`},
		{"the update", text(all["Deployment/stream-monitor-gateway"].at("spec", "strategy")),
			`{"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}`},
		{"replicas, which are the HPA's", text(all["Deployment/stream-monitor-gateway"].at("spec", "replicas")), `null`},
		{"8.7, liveness", text(all["Deployment/stream-monitor-gateway"].at("spec", "template", "spec", "containers", 0, "livenessProbe")),
			`{"httpGet": {"path": "/healthz", "port": "public", "scheme": "HTTPS"}, "periodSeconds": 30, "timeoutSeconds": 5, "failureThreshold": 3}`},
		{"8.7, readiness", text(all["Deployment/stream-monitor-gateway"].at("spec", "template", "spec", "containers", 0, "readinessProbe")),
			`{"httpGet": {"path": "/readyz", "port": "public", "scheme": "HTTPS"}, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3}`},
	} {
		same(t, c.what, c.got, c.want)
	}
	for name, m := range all {
		if strings.HasPrefix(name, "Cluster") {
			t.Errorf("%s: permissions are the namespace's", name)
		}
		if got := m.at("metadata", "namespace"); got != "stream-monitor" {
			t.Errorf("%s is in namespace %v", name, got)
		}
	}
	for _, name := range []string{"Deployment/stream-monitor-gateway", "Job/stream-monitor-uninstall"} {
		pod := all[name].at("spec", "template", "spec")
		if got := made(pod.(map[string]any)).at("securityContext", "runAsNonRoot"); got != true {
			t.Errorf("%s may run as root", name)
		}
		same(t, name+": its container", text(made(pod.(map[string]any)).at("containers", 0, "securityContext")),
			`{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}`)
	}
}
