package kube_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
)

func written(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestATemplateIsMergedByName(t *testing.T) {
	p := launched(t, func(c *kube.Config) {
		c.Template = written(t, `
metadata:
  name: mine
  generateName: mine-
  labels: {team: video, monitor-id: mine, app.kubernetes.io/instance: mine}
  annotations: {prometheus.io/scrape: "false"}
spec:
  nodeSelector: {disk: fast}
  tolerations: [{key: video, operator: Exists}]
  imagePullSecrets: [{name: registry}]
  volumes:
  - name: workdir
    emptyDir: {medium: Memory, sizeLimit: 64Mi}
  - $patch: delete
    name: tmp
  containers:
  - name: monitor
    image: mirror.example/stream-monitor:2
    imagePullPolicy: Always
    env:
    - {name: MONITOR_ID, value: mine}
    - {name: GENERATION, value: "99"}
    - {name: LOG_LEVEL, value: debug}
    - {name: TZ, value: Asia/Tokyo}
    resources:
      limits: {cpu: "2"}
    livenessProbe: {periodSeconds: 60}
    readinessProbe: null
  - {name: beside, image: "beside:1"}
`)
	})
	expect(t, "its name", []string{p.Name, p.GenerateName, p.Namespace}, `["stream-monitor-mon-00000000000070008000000000000000","","streams"]`)
	expect(t, "its labels", p.Labels, `{"app":"stream-monitor","app.kubernetes.io/component":"worker","app.kubernetes.io/instance":"stream-monitor",`+
		`"generation":"3","monitor-id":"mon-00000000000070008000000000000000","team":"video"}`)
	expect(t, "its annotations", p.Annotations, `{"prometheus.io/scrape":"false"}`)
	expect(t, "its nodes", p.Spec.NodeSelector, `{"disk":"fast"}`)
	expect(t, "its tolerations", p.Spec.Tolerations, `[{"key":"video","operator":"Exists"}]`)
	expect(t, "its registry", p.Spec.ImagePullSecrets, `[{"name":"registry"}]`)
	expect(t, "its volumes", p.Spec.Volumes, `[{"name":"workdir","emptyDir":{"medium":"Memory","sizeLimit":"64Mi"}}]`)
	expect(t, "the rights that were not spoken of", p.Spec.SecurityContext.RunAsNonRoot, `true`)
	i := slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == "monitor" })
	c := p.Spec.Containers[i]
	expect(t, "the number of its containers", len(p.Spec.Containers), `2`)
	expect(t, "its image", []any{c.Image, c.ImagePullPolicy}, `["mirror.example/stream-monitor:2","Always"]`)
	expect(t, "its resources", c.Resources, `{"limits":{"cpu":"2","memory":"512Mi"},"requests":{"cpu":"100m","memory":"256Mi"}}`)
	expect(t, "its liveness probe", c.LivenessProbe, `{"httpGet":{"path":"/healthz","port":"probes"},"timeoutSeconds":5,"periodSeconds":60,"failureThreshold":3}`)
	expect(t, "its readiness probe", c.ReadinessProbe, `null`)
	got := map[string]string{}
	for _, v := range c.Env {
		got[v.Name] = v.Value
	}
	for name, want := range map[string]string{
		"MONITOR_ID": "mon-00000000000070008000000000000000", "GENERATION": "3", // they stay
		"LOG_LEVEL": "debug", "TZ": "Asia/Tokyo", "GATEWAY_URL": "https://gateway:8081",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// monitorWith is a template with resources of the worker's container.
func monitorWith(resources string) string {
	return "spec:\n  containers:\n  - name: monitor\n    resources: " + resources + "\n"
}

func TestALimitBelowWhatIsRequestedByDefaultLowersThat(t *testing.T) {
	for name, c := range map[string]struct{ part, want string }{
		"of memory":        {"{limits: {memory: 128Mi}}", `{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"100m","memory":"128Mi"}}`},
		"of both":          {"{limits: {memory: 128Mi, cpu: 50m}}", `{"limits":{"cpu":"50m","memory":"128Mi"},"requests":{"cpu":"50m","memory":"128Mi"}}`},
		"beside a request": {"{limits: {memory: 128Mi}, requests: {cpu: 10m}}", `{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"10m","memory":"128Mi"}}`},
		"and no less is one that is equal": {"{limits: {memory: 256Mi}, requests: {memory: 256Mi}}",
			`{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"256Mi"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := launched(t, func(cfg *kube.Config) { cfg.Template = written(t, monitorWith(c.part)) })
			expect(t, "its resources", p.Spec.Containers[0].Resources, c.want)
		})
	}
}

func TestATemplateThatIsWrongIsSaidToBe(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		says    []string
	}{
		"no YAML":                    {"spec: [", []string{"not the YAML of an object"}},
		"a list":                     {"- a\n- b\n", []string{"not the YAML of an object"}},
		"twice the same":             {"spec: {}\nspec: {}\n", []string{"not the YAML of an object", "spec"}},
		"a field that there is not":  {"spec:\n  nodeSelektor: {}\n", []string{"no part of a PodTemplateSpec", "nodeSelektor"}},
		"a whole pod":                {"apiVersion: v1\nkind: Pod\nspec: {}\n", []string{"no part of a PodTemplateSpec", "apiVersion"}},
		"a field of another type":    {"spec:\n  containers: monitor\n", []string{"no part of a PodTemplateSpec", "containers"}},
		"an amount that is none":     {"spec:\n  containers:\n  - name: monitor\n    resources: {limits: {memory: much}}\n", []string{"quantities"}},
		"a container without a name": {"spec:\n  containers:\n  - image: x\n", []string{"cannot be merged", "name"}},
		"the worker's is taken away": {"spec:\n  containers:\n  - $patch: delete\n    name: monitor\n", []string{"no container called monitor"}},
		"a request beyond its limit": {monitorWith("{requests: {memory: 256Mi}, limits: {memory: 128Mi}}"),
			[]string{"container monitor", "requests.memory is 256Mi", "limits.memory is 128Mi", "lower the request or raise the limit"}},
		"a request beyond the default limit": {monitorWith("{requests: {cpu: 600m}}"),
			[]string{"container monitor", "requests.cpu is 600m", "limits.cpu is 500m"}},
		"a request of what is beside it": {"spec:\n  containers:\n  - name: beside\n    resources: {requests: {cpu: 2}, limits: {cpu: 1}}\n",
			[]string{"container beside", "requests.cpu is 2", "limits.cpu is 1"}},
		"a request of what goes before it": {"spec:\n  initContainers:\n  - name: before\n    resources: {requests: {cpu: 2}, limits: {cpu: 1}}\n",
			[]string{"container before", "requests.cpu is 2", "limits.cpu is 1"}},
		"it is too long":              {"# " + strings.Repeat("x", 256<<10), []string{"longer than 262144 bytes"}},
		"it says nothing and is fine": {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := settings()
			cfg.Template = written(t, c.content)
			l, err := kube.New(kube.Of(simulate(t).client, namespace), cfg)
			switch {
			case err == nil && c.says != nil:
				t.Error("it was taken")
			case err == nil:
			case c.says == nil:
				t.Error(err)
			default:
				expectContains(t, err.Error(), append(c.says, cfg.Template)...)
			}
			if l != nil {
				_ = l.Close(t.Context())
			}
		})
	}
	t.Run("it is not there", func(t *testing.T) {
		cfg := settings()
		cfg.Template = "/nowhere/pod.yaml"
		if _, err := kube.New(kube.Of(simulate(t).client, namespace), cfg); err == nil || !strings.Contains(err.Error(), "/nowhere/pod.yaml") {
			t.Errorf("got %v", err)
		}
	})
}
