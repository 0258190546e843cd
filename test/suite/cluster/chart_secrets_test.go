//go:build cluster

package cluster_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
)

func TestTheChartGeneratesLongAndDifferentKeys(t *testing.T) {
	all := rendered(t)
	seen := map[any]bool{}
	for _, key := range []string{"API_KEY", "INTERNAL_API_KEY", "WEBHOOK_SIGNING_KEY", "EVIDENCE_LINK_KEY", "SECRETS_KEY"} {
		v, _ := all.field("Secret/stream-monitor data " + key).(string)
		if len(v) < 43 || seen[v] {
			t.Errorf("%s is %q", key, v)
		}
		seen[v] = true
	}
}

// The kubelet starts no container that refers to a key which its Secret lacks.
func TestTheChartsSecretHasEveryKeyThatTheGatewayNeeds(t *testing.T) {
	all := rendered(t)
	keys, _ := all.field("Secret/stream-monitor data").(map[string]any)
	env, _ := all.field(gatewayPod + "containers 0 env").([]any)
	needed := 0
	for _, each := range env {
		source, _ := each.(map[string]any)["valueFrom"].(map[string]any)
		reference, _ := source["secretKeyRef"].(map[string]any)
		if reference == nil || reference["optional"] == true {
			continue
		}
		needed++
		if name, _ := reference["key"].(string); keys[name] == nil {
			t.Errorf("%s is needed, and the Secret has none", name)
		}
	}
	if needed == 0 {
		t.Error("the gateway needs no key")
	}
}

// Generated keys are nowhere else. What they encrypt and sign is in a database that outlives
// the release, and callers trust the authority.
func TestTheChartKeepsWhatOnlyItsSecretsHave(t *testing.T) {
	all := rendered(t, apart)
	for name := range all {
		want := map[string]any{"Secret/stream-monitor": "keep", "Secret/stream-monitor-ca": "keep"}[name]
		if got := all.field(name + " metadata annotations helm.sh/resource-policy"); got != want {
			t.Errorf("%s: the policy is %v, want %v", name, got, want)
		}
	}
}

func TestTheChartIsReproducibleWithoutGeneratedKeys(t *testing.T) {
	isReproducible := func(set ...string) bool {
		first, err := render(t, append(set, tag)...)
		must(t, err)
		second, err := render(t, append(set, tag)...)
		must(t, err)
		return jsonText(first) == jsonText(second)
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

func TestTheChartGeneratesACertificateForTheServicesAndExtraNames(t *testing.T) {
	text, _ := rendered(t, "tls.extraNames={watch.example.com,192.0.2.7,2001:db8::7}").field("Secret/stream-monitor-tls data tls.crt").(string)
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

func TestTheChartStatesTheVersionInLabels(t *testing.T) {
	digest := "image.digest=sha256:" + strings.Repeat("0a", 32)
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{tag}, "v1"},
		{[]string{"image.tag=_v1.2_"}, "v1.2"},
		{[]string{"image.tag=" + strings.Repeat("a", 62) + "-b"}, strings.Repeat("a", 62)},
		{[]string{tag, digest}, "0.1.0"},
		{[]string{"image.tag=", digest}, "0.1.0"},
	} {
		if got := rendered(t, c.set...).field("Deployment/stream-monitor-gateway metadata labels app.kubernetes.io/version"); got != c.want {
			t.Errorf("%v: the label is %v, want %s", c.set, got, c.want)
		}
	}
}
