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
	"slices"
	"strings"
	"testing"
)

// gatewayConfig returns the ConfigMap of the gateway.
func gatewayConfig(all map[string]manifest) manifest {
	return all["ConfigMap/stream-monitor-gateway"]
}

func TestTheChartPassesSettingsToTheProgram(t *testing.T) {
	all := rendered(t, "settings.MAX_MONITORS=2000", "settings.MISSING_WORKER=relaunch")
	for name, want := range map[string]any{"MAX_MONITORS": "2000", "MISSING_WORKER": "relaunch", "LOG_LEVEL": nil, "EVENT_RETENTION": nil,
		"WORKER_SECRET": "stream-monitor", "WORKER_CA_SECRET": "stream-monitor-tls", "WORKER_INSTANCE": "stream-monitor",
		"WORKER_GATEWAY_URL": "https://stream-monitor-internal.stream-monitor.svc:8081"} {
		if got := gatewayConfig(all).field("data", name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestTheChartSupportsPlainHTTP(t *testing.T) {
	all := rendered(t, "tls.enabled=false")
	for name, want := range map[string]any{"WORKER_CA_SECRET": nil, "TLS_CERT_FILE": nil, "WORKER_GATEWAY_URL": "http://stream-monitor-internal.stream-monitor.svc:8081"} {
		if got := gatewayConfig(all).field("data", name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if all["Secret/stream-monitor-tls"] != nil || all["Secret/stream-monitor-ca"] != nil {
		t.Error("certificates are generated although TLS is off")
	}
}

func TestTheChartUsesExistingSecrets(t *testing.T) {
	all, err := render(t, tag, "secret.existingSecret=keys", "tls.existingSecret=certificate")
	must(t, err)
	for name := range all {
		if strings.HasPrefix(name, "Secret/") {
			t.Errorf("the chart makes %s although secret.existingSecret or tls.existingSecret is set", name)
		}
	}
	if a, b := gatewayConfig(all).field("data", "WORKER_SECRET"), gatewayConfig(all).field("data", "WORKER_CA_SECRET"); a != "keys" || b != "certificate" {
		t.Errorf("workers use the Secrets %v and %v", a, b)
	}
}

func TestTheChartGeneratesLongAndDifferentKeys(t *testing.T) {
	secret := rendered(t)["Secret/stream-monitor"]
	seen := map[any]bool{}
	for _, key := range []string{"API_KEY", "INTERNAL_API_KEY", "WEBHOOK_SIGNING_KEY", "EVIDENCE_LINK_KEY", "SECRETS_KEY"} {
		v, _ := secret.field("data", key).(string)
		if len(v) < 43 || seen[v] {
			t.Errorf("%s is %q", key, v)
		}
		seen[v] = true
	}
}

// Generated keys are nowhere else. What they encrypt and sign is in a database that outlives
// the release, and callers trust the authority.
func TestTheChartKeepsWhatOnlyItsSecretsHave(t *testing.T) {
	for name, m := range rendered(t, apart) {
		want := map[string]any{"Secret/stream-monitor": "keep", "Secret/stream-monitor-ca": "keep"}[name]
		if got := m.field("metadata", "annotations", "helm.sh/resource-policy"); got != want {
			t.Errorf("%s: the policy is %v, want %v", name, got, want)
		}
	}
	const removal = "delete secret stream-monitor stream-monitor-ca"
	if notes := renderNotes(t, tag); !strings.Contains(notes, removal) {
		t.Errorf("the notes do not say how to delete what stays: %s", notes)
	}
	if notes := renderNotes(t, tag, "secret.existingSecret=keys", "tls.existingSecret=certificate"); strings.Contains(notes, "delete secret") {
		t.Errorf("the notes name Secrets that the chart has not made: %s", notes)
	}
}

func TestTheChartIsReproducibleWithoutGeneratedKeys(t *testing.T) {
	text := func(set ...string) string {
		all, err := render(t, append(set, tag)...)
		must(t, err)
		b, _ := json.Marshal(all)
		return string(b)
	}
	isReproducible := func(set ...string) bool {
		first := text(set...)
		return first == text(set...)
	}
	if isReproducible(dsn) {
		t.Error("the generated keys are predictable")
	}
	keys := []string{dsn, "generate=false", "secret.values.API_KEY=an-api-key-for-tests", "secret.values.INTERNAL_API_KEY=an-internal-key-for-tests", "secret.values.WEBHOOK_SIGNING_KEY=c"}
	for _, set := range [][]string{
		{"generate=false", "secret.existingSecret=keys", "tls.existingSecret=certificate"},
		append(slices.Clone(keys), "tls.existingSecret=certificate"), append(slices.Clone(keys), "tls.enabled=false"),
	} {
		if !isReproducible(set...) {
			t.Errorf("with %v two renderings differ", set)
		}
	}
}

func TestTheChartAllowsTheConfiguredDNSPorts(t *testing.T) {
	b, _ := json.Marshal(rendered(t, "networkPolicy.workerEgress[0].to[0].ipBlock.cidr=0.0.0.0/0", "networkPolicy.dnsPorts={53,5353}")["NetworkPolicy/stream-monitor-worker"].field("spec", "egress", 0, "ports"))
	expectSameJSON(t, "ports", string(b), `[{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}, {"port": 5353, "protocol": "UDP"}, {"port": 5353, "protocol": "TCP"}]`)
}

func TestTheChartAlwaysAdmitsHelmTest(t *testing.T) {
	peers := func(set ...string) string {
		b, _ := json.Marshal(rendered(t, set...)["NetworkPolicy/stream-monitor-gateway"].field("spec", "ingress", 0, "from"))
		return string(b)
	}
	expectSameJSON(t, "all peers", peers(), `null`)
	expectSameJSON(t, "configured peers", peers("networkPolicy.publicFrom[0].namespaceSelector.matchLabels.name=ingress"), `[
		{"namespaceSelector": {"matchLabels": {"name": "ingress"}}},
		{"podSelector": {"matchLabels": {"app.kubernetes.io/instance": "stream-monitor", "app.kubernetes.io/component": "test"}}}]`)
	for key, want := range map[string]string{"app.kubernetes.io/instance": "stream-monitor", "app.kubernetes.io/component": "test"} {
		if got := rendered(t)["Pod/stream-monitor-test"].field("metadata", "labels", key); got != want {
			t.Errorf("the test's pod has %s=%v, want %s", key, got, want)
		}
	}
}

func TestTheChartGeneratesACertificateForTheServicesAndExtraNames(t *testing.T) {
	secret := rendered(t, "tls.extraNames={watch.example.com,192.0.2.7,2001:db8::7}")["Secret/stream-monitor-tls"]
	text, _ := secret.field("data", "tls.crt").(string)
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
}

func TestTheChartPrefersADigestToTheTag(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	all, err := render(t, dsn, "image.repository=here/it", "image.digest="+digest)
	must(t, err)
	if got := gatewayConfig(all).field("data", "WORKER_IMAGE"); got != "here/it@"+digest {
		t.Errorf("the workers' image is %v", got)
	}
}

func TestTheChartStatesTheVersionInLabelsAndNotes(t *testing.T) {
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
		if got := rendered(t, c.set...)["Deployment/stream-monitor-gateway"].field("metadata", "labels", "app.kubernetes.io/version"); got != c.label {
			t.Errorf("%v: the label is %v, want %s", c.set, got, c.label)
		}
		if notes, want := renderNotes(t, c.set...), "stream-monitor "+c.note+" is installed"; !strings.Contains(notes, want) {
			t.Errorf("%v: the notes do not contain %q: %s", c.set, want, notes)
		}
	}
}

func TestTheChartNamesEverythingByFullnameOverride(t *testing.T) {
	all := rendered(t, "fullnameOverride=other")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !strings.Contains(name, "/other") {
			t.Errorf("%s does not have the name", name)
		}
	}
}

// renderNotes renders NOTES.txt, which "helm template" leaves out. A manifest in a
// copy of the chart includes it.
func renderNotes(t *testing.T, set ...string) string {
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
