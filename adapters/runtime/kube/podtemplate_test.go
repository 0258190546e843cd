package kube_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func templateFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pod.yaml")
	must.Do(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

// The template changes what it names, but not the assignment, nor what tells the pod from others.
func TestAPodTemplateIsMergedByName(t *testing.T) {
	expectPod(t, launchedPod(t, func(c *kube.Config) { c.PodTemplateFile = "testdata/template.yaml" }), "merged-pod.yaml")
}

// templateWithResources is a template that sets the resources of the worker.
func templateWithResources(resources string) string {
	return "spec:\n  containers:\n  - name: monitor\n    resources: " + resources + "\n"
}

func TestALimitBelowADefaultRequestLowersTheRequest(t *testing.T) {
	for name, c := range map[string]struct{ part, want string }{
		"of memory":               {"{limits: {memory: 128Mi}}", `{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"100m","memory":"128Mi"}}`},
		"of both":                 {"{limits: {memory: 128Mi, cpu: 50m}}", `{"limits":{"cpu":"50m","memory":"128Mi"},"requests":{"cpu":"50m","memory":"128Mi"}}`},
		"together with a request": {"{limits: {memory: 128Mi}, requests: {cpu: 10m}}", `{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"10m","memory":"128Mi"}}`},
		"equal to a request": {"{limits: {memory: 256Mi}, requests: {memory: 256Mi}}",
			`{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"256Mi"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := launchedPod(t, func(cfg *kube.Config) { cfg.PodTemplateFile = templateFile(t, templateWithResources(c.part)) })
			expectJSON(t, "its resources", p.Spec.Containers[0].Resources, c.want)
		})
	}
}

func TestAnInvalidPodTemplateIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"not YAML":                          {"spec: [", []string{"not the YAML of an object"}},
		"a list":                            {"- a\n- b\n", []string{"not the YAML of an object"}},
		"a duplicate field":                 {"spec: {}\nspec: {}\n", []string{"not the YAML of an object", "spec"}},
		"an unknown field":                  {"spec:\n  nodeSelektor: {}\n", []string{"no part of a PodTemplateSpec", "nodeSelektor"}},
		"a whole pod":                       {"apiVersion: v1\nkind: Pod\nspec: {}\n", []string{"no part of a PodTemplateSpec", "apiVersion"}},
		"a field of the wrong type":         {"spec:\n  containers: monitor\n", []string{"no part of a PodTemplateSpec", "containers"}},
		"an invalid quantity":               {"spec:\n  containers:\n  - name: monitor\n    resources: {limits: {memory: much}}\n", []string{"quantities"}},
		"a container without a name":        {"spec:\n  containers:\n  - image: x\n", []string{"cannot be merged", "name"}},
		"the worker's container is deleted": {"spec:\n  containers:\n  - $patch: delete\n    name: monitor\n", []string{"no container called monitor"}},
		"a request above its limit": {templateWithResources("{requests: {memory: 256Mi}, limits: {memory: 128Mi}}"),
			[]string{"container monitor", "requests.memory is 256Mi", "limits.memory is 128Mi", "lower the request or raise the limit"}},
		"a request above the default limit": {templateWithResources("{requests: {cpu: 600m}}"),
			[]string{"container monitor", "requests.cpu is 600m", "limits.cpu is 500m"}},
		"a request of a sidecar above its limit": {"spec:\n  containers:\n  - name: sidecar\n    resources: {requests: {cpu: 2}, limits: {cpu: 1}}\n",
			[]string{"container sidecar", "requests.cpu is 2", "limits.cpu is 1"}},
		"a request of an init container above its limit": {"spec:\n  initContainers:\n  - name: before\n    resources: {requests: {cpu: 2}, limits: {cpu: 1}}\n",
			[]string{"container before", "requests.cpu is 2", "limits.cpu is 1"}},
		"a file that is too long":         {"# " + strings.Repeat("x", 256<<10), []string{"longer than 262144 bytes"}},
		"an empty file, which is allowed": {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := settings()
			cfg.PodTemplateFile = templateFile(t, c.content)
			l, err := kube.New(kube.NewCluster(newFakeCluster(t).client, namespace), cfg)
			switch {
			case err == nil && c.want != nil:
				t.Error("the template was accepted")
			case err == nil:
			case c.want == nil:
				t.Error(err)
			default:
				expectContains(t, err.Error(), append(c.want, cfg.PodTemplateFile)...)
			}
			if l != nil {
				_ = l.Close(t.Context())
			}
		})
	}
	t.Run("a file that does not exist", func(t *testing.T) {
		cfg := settings()
		cfg.PodTemplateFile = "/missing/pod.yaml"
		if _, err := kube.New(kube.NewCluster(newFakeCluster(t).client, namespace), cfg); err == nil || !strings.Contains(err.Error(), "/missing/pod.yaml") {
			t.Errorf("got %v", err)
		}
	})
}
