//go:build cluster

package cluster_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// bounds is what a gateway takes for its end at most, after the draining, in
// seconds: the bounds that are in its code, one after the other.
func bounds(t *testing.T) (sum float64) {
	t.Helper()
	for _, one := range []struct{ file, name string }{
		{"cmd/stream-monitor/service.go", "requestsLimit"},   // of callers
		{"adapters/kube/call.go", "callLimit"},               // a creation that is under way
		{"application/supervise/config.go", "exchangeLimit"}, // taking stock
		{"cmd/stream-monitor/service.go", "workersLimit"},
		{"cmd/stream-monitor/service.go", "releaseLimit"},
		{"cmd/stream-monitor/service.go", "requestsLimit"}, // of workers
	} {
		code, err := os.ReadFile(filepath.Join("..", "..", one.file))
		must(t, err)
		found := regexp.MustCompile(`(?m)^\s*` + one.name + `\s*= (\d+) \* time\.Second\b`).FindSubmatch(code)
		if found == nil {
			t.Fatalf("%s has no %s in seconds", one.file, one.name)
		}
		n, err := strconv.ParseFloat(string(found[1]), 64)
		must(t, err)
		sum += n
	}
	return sum
}

func TestTheChartGivesTimeToEnd(t *testing.T) {
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
			grace, _ := all["Deployment/stream-monitor-gateway"].at("spec", "template", "spec", "terminationGracePeriodSeconds").(float64)
			if atMost := c.drain + bounds(t); grace < atMost {
				t.Errorf("a gateway that drains for %v s has %v s to end, which takes %v s at most", c.drain, grace, atMost)
			}
			hook, _ := all["Job/stream-monitor-uninstall"].at("spec", "activeDeadlineSeconds").(float64)
			if hook < max(c.atLeast, grace+60) || c.hook != 0 && hook != c.hook {
				t.Errorf("the hook has %v s, with %v s for the gateways", hook, grace)
			}
		})
	}
}

func TestTheChartTakesWhatItIsGiven(t *testing.T) {
	config := func(all map[string]made) made { return all["ConfigMap/stream-monitor-gateway"] }
	t.Run("settings are variables, and unset ones are the program's", func(t *testing.T) {
		all := rendered(t, "settings.MAX_MONITORS=2000", "settings.MISSING_WORKER=relaunch")
		for name, want := range map[string]any{"MAX_MONITORS": "2000", "MISSING_WORKER": "relaunch", "LOG_LEVEL": nil, "EVENT_RETENTION": nil,
			"WORKER_SECRET": "stream-monitor", "WORKER_CA_SECRET": "stream-monitor-tls", "WORKER_INSTANCE": "stream-monitor",
			"WORKER_GATEWAY_URL": "https://stream-monitor-internal.stream-monitor.svc:8081"} {
			if got := config(all).at("data", name); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
	})
	t.Run("plain HTTP", func(t *testing.T) {
		all := rendered(t, "tls.enabled=false")
		for name, want := range map[string]any{"WORKER_CA_SECRET": nil, "TLS_CERT_FILE": nil, "WORKER_GATEWAY_URL": "http://stream-monitor-internal.stream-monitor.svc:8081"} {
			if got := config(all).at("data", name); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if all["Secret/stream-monitor-tls"] != nil || all["Secret/stream-monitor-ca"] != nil {
			t.Error("certificates are made that nobody uses")
		}
	})
	t.Run("Secrets of others", func(t *testing.T) {
		all, err := render(t, tag, "secret.existingSecret=keys", "tls.existingSecret=certificate")
		must(t, err)
		for name := range all {
			if strings.HasPrefix(name, "Secret/") {
				t.Errorf("%s is made though it is given", name)
			}
		}
		if a, b := config(all).at("data", "WORKER_SECRET"), config(all).at("data", "WORKER_CA_SECRET"); a != "keys" || b != "certificate" {
			t.Errorf("workers get %v and %v", a, b)
		}
	})
	t.Run("keys are generated, long and different", func(t *testing.T) {
		secret := rendered(t)["Secret/stream-monitor"]
		seen := map[any]bool{}
		for _, key := range []string{"API_KEY", "INTERNAL_API_KEY", "WEBHOOK_SIGNING_KEY"} {
			v, _ := secret.at("data", key).(string)
			if len(v) < 43 || seen[v] {
				t.Errorf("%s is %q", key, v)
			}
			seen[v] = true
		}
	})
	t.Run("what is generated is another each time, and generate=false is the same each time", func(t *testing.T) {
		text := func(set ...string) string {
			all, err := render(t, append(set, tag)...)
			must(t, err)
			b, _ := json.Marshal(all)
			return string(b)
		}
		again := func(set ...string) (alike bool) {
			first := text(set...)
			return first == text(set...)
		}
		if again(dsn) {
			t.Error("the keys are known")
		}
		keys := []string{dsn, "generate=false", "secret.values.API_KEY=a", "secret.values.INTERNAL_API_KEY=b", "secret.values.WEBHOOK_SIGNING_KEY=c"}
		for _, set := range [][]string{
			{"generate=false", "secret.existingSecret=keys", "tls.existingSecret=certificate"},
			append(slices.Clone(keys), "tls.existingSecret=certificate"), append(slices.Clone(keys), "tls.enabled=false"),
		} {
			if !again(set...) {
				t.Errorf("with %v two renderings differ", set)
			}
		}
	})
	t.Run("ports of DNS", func(t *testing.T) {
		b, _ := json.Marshal(rendered(t, "networkPolicy.workerEgress[0].to[0].ipBlock.cidr=0.0.0.0/0", "networkPolicy.dnsPorts={53,5353}")["NetworkPolicy/stream-monitor-worker"].at("spec", "egress", 0, "ports"))
		same(t, "the ports", string(b), `[{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}, {"port": 5353, "protocol": "UDP"}, {"port": 5353, "protocol": "TCP"}]`)
	})
	t.Run("who reaches the public API, helm test among them", func(t *testing.T) {
		peers := func(set ...string) string {
			b, _ := json.Marshal(rendered(t, set...)["NetworkPolicy/stream-monitor-gateway"].at("spec", "ingress", 0, "from"))
			return string(b)
		}
		same(t, "everybody", peers(), `null`)
		same(t, "some", peers("networkPolicy.publicFrom[0].namespaceSelector.matchLabels.name=ingress"), `[
			{"namespaceSelector": {"matchLabels": {"name": "ingress"}}},
			{"podSelector": {"matchLabels": {"app.kubernetes.io/instance": "stream-monitor", "app.kubernetes.io/component": "test"}}}]`)
		for key, want := range map[string]string{"app.kubernetes.io/instance": "stream-monitor", "app.kubernetes.io/component": "test"} {
			if got := rendered(t)["Pod/stream-monitor-test"].at("metadata", "labels", key); got != want {
				t.Errorf("the test's pod has %s=%v, want %s", key, got, want)
			}
		}
	})
	t.Run("what the certificate is for", func(t *testing.T) {
		secret := rendered(t, "tls.extraNames={watch.example.com,192.0.2.7,2001:db8::7}")["Secret/stream-monitor-tls"]
		text, _ := secret.at("data", "tls.crt").(string)
		pair, err := base64.StdEncoding.DecodeString(text)
		must(t, err)
		block, _ := pem.Decode(pair)
		certificate, err := x509.ParseCertificate(block.Bytes)
		must(t, err)
		for _, host := range []string{"stream-monitor-internal.stream-monitor.svc", "stream-monitor.stream-monitor.svc", "localhost", "127.0.0.1",
			"watch.example.com", "192.0.2.7", "2001:db8::7"} {
			if err := certificate.VerifyHostname(host); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("a digest in the tag's place", func(t *testing.T) {
		digest := "sha256:" + strings.Repeat("0a", 32)
		all, err := render(t, dsn, "image.repository=here/it", "image.digest="+digest)
		must(t, err)
		if got := config(all).at("data", "WORKER_IMAGE"); got != "here/it@"+digest {
			t.Errorf("workers have %v", got)
		}
	})
	t.Run("the version that runs", func(t *testing.T) {
		digest := "image.digest=sha256:" + strings.Repeat("0a", 32)
		for _, c := range []struct {
			set         []string
			label, note string
		}{
			{[]string{tag}, "v1", "v1"},
			{[]string{"image.tag=_v1.2_"}, "v1.2", "_v1.2_"},
			{[]string{"image.tag=" + strings.Repeat("a", 62) + "-b"}, strings.Repeat("a", 62), strings.Repeat("a", 62) + "-b"},
			{[]string{tag, digest}, "0.1.0", "0.1.0"},
			{[]string{"image.tag=", digest}, "0.1.0", "0.1.0"},
		} {
			if got := rendered(t, c.set...)["Deployment/stream-monitor-gateway"].at("metadata", "labels", "app.kubernetes.io/version"); got != c.label {
				t.Errorf("%v: the label is %v, want %s", c.set, got, c.label)
			}
			if notes, want := noted(t, c.set...), "stream-monitor "+c.note+" is installed"; !strings.Contains(notes, want) {
				t.Errorf("%v: %q is not among the notes: %s", c.set, want, notes)
			}
		}
	})
	t.Run("another release has other names", func(t *testing.T) {
		all := rendered(t, "fullnameOverride=other")
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !strings.Contains(name, "/other") {
				t.Errorf("%s", name)
			}
		}
	})
}

// noted is what "helm install" says in the end. "helm template" leaves it out: it
// is rendered by a manifest, in a copy of the chart.
func noted(t *testing.T, set ...string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(chart)))
	must(t, os.WriteFile(filepath.Join(dir, "templates", "notes.yaml"), []byte(`notes: {{ include (print .Template.BasePath "/NOTES.txt") . | quote }}`), 0o600))
	args := []string{"template", release, dir, "--show-only", "templates/notes.yaml", "--kube-version", "v1.34.0", "--set", dsn}
	for _, one := range set {
		args = append(args, "--set", one)
	}
	out, err := run(t.Context(), "helm", args...)
	must(t, err)
	return out
}
