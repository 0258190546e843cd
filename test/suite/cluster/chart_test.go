//go:build cluster

package cluster_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
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
	gatewayPod = "Deployment/stream-monitor-gateway spec template spec "
	workerPod  = "ConfigMap/stream-monitor-worker data pod.yaml spec "
	config     = "ConfigMap/stream-monitor-gateway data "
)

func TestTheChartRenders(t *testing.T) {
	text, err := os.ReadFile("testdata/renders.yaml")
	must(t, err)
	var cases map[string]struct {
		Set  []string
		Want map[string]any
	}
	must(t, yaml.UnmarshalStrict(bytes.ReplaceAll(text, []byte("{digest}"), []byte("sha256:"+strings.Repeat("0a", 32))), &cases))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all := rendered(t, c.Set...)
			for path, want := range c.Want {
				expectSameJSON(t, path, jsonText(all.field(path)), jsonText(want))
			}
		})
	}
}
