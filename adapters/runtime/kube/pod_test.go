package kube_test

import (
	"encoding/json"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// launched is the pod that a launcher makes of a job.
func launched(t *testing.T, change func(*kube.Config)) *corev1.Pod {
	t.Helper()
	s := simulate(t)
	cfg := settings()
	cfg.Grace = 0
	if change != nil {
		change(&cfg)
	}
	l := open(t, s, cfg)
	if err := l.Launch(t.Context(), job(launchertest.StopsWhenAsked)); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[job("").ID.WorkerName()]
}

// expect checks that a value, as JSON, is what it should be; JSON so that a
// reader sees what a cluster sees.
func expect(t *testing.T, what string, got any, want string) {
	t.Helper()
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != want {
		t.Errorf("%s is\n%s\nwant\n%s", what, b, want)
	}
}

func TestThePodOfAWorker(t *testing.T) {
	p := launched(t, func(c *kube.Config) {
		c.Environ = []string{"HTTP_PROXY=http://proxy.example:3128", "HTTPS_PROXY=http://proxy.example:3128", "MONITOR_ID=another", "LOG_LEVEL=error"}
		c.CASecret, c.Instance = "authority", "first"
	})
	c := p.Spec.Containers[0]

	// Section 8.1.
	expect(t, "its name", p.Name, `"stream-monitor-mon-00000000000070008000000000000000"`)
	expect(t, "its namespace", p.Namespace, `"streams"`)
	expect(t, "its labels", p.Labels, `{"app":"stream-monitor","app.kubernetes.io/component":"worker","app.kubernetes.io/instance":"first",`+
		`"generation":"3","monitor-id":"mon-00000000000070008000000000000000"}`)
	expect(t, "its restart policy", p.Spec.RestartPolicy, `"OnFailure"`)
	expect(t, "the number of its containers", len(p.Spec.Containers), `1`)
	expect(t, "its container", []any{c.Name, c.Image, c.Command, c.Args}, `["monitor","stream-monitor:1",null,["worker"]]`)
	expect(t, "its resources", c.Resources, `{"limits":{"cpu":"500m","memory":"512Mi"},"requests":{"cpu":"100m","memory":"256Mi"}}`)
	expect(t, "its volumes", p.Spec.Volumes, `[{"name":"workdir","emptyDir":{}},{"name":"tmp","emptyDir":{"sizeLimit":"1Gi"}},`+
		`{"name":"gateway-ca","secret":{"secretName":"authority","items":[{"key":"ca.crt","path":"ca.crt"}]}}]`)
	expect(t, "its mounts", c.VolumeMounts, `[{"name":"workdir","mountPath":"/tmp/segments"},{"name":"tmp","mountPath":"/tmp"},`+
		`{"name":"gateway-ca","readOnly":true,"mountPath":"/etc/stream-monitor/ca"}]`)

	// Section 8.3.
	expect(t, "its grace", p.Spec.TerminationGracePeriodSeconds, `30`)

	// Section 8.7.
	expect(t, "its liveness probe", c.LivenessProbe, `{"httpGet":{"path":"/healthz","port":"probes"},"timeoutSeconds":5,"periodSeconds":30,"failureThreshold":3}`)
	expect(t, "its readiness probe", c.ReadinessProbe, `{"httpGet":{"path":"/readyz","port":"probes"},"timeoutSeconds":5,"periodSeconds":10,"failureThreshold":3}`)
	expect(t, "its ports", c.Ports, `[{"name":"probes","containerPort":8082,"protocol":"TCP"}]`)

	// As few rights as will do.
	expect(t, "its rights", p.Spec.SecurityContext,
		`{"runAsUser":65532,"runAsGroup":65532,"runAsNonRoot":true,"fsGroup":65532,"seccompProfile":{"type":"RuntimeDefault"}}`)
	expect(t, "its container's rights", c.SecurityContext,
		`{"capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false}`)
	expect(t, "its token", p.Spec.AutomountServiceAccountToken, `false`)
	expect(t, "its service links", p.Spec.EnableServiceLinks, `false`)

	// Sections 8.1, 8.6 and 14.2.
	got := map[string]string{}
	for _, v := range c.Env {
		if _, twice := got[v.Name]; twice {
			t.Errorf("%s is there twice", v.Name)
		}
		got[v.Name] = v.Value
		if v.ValueFrom != nil {
			b, _ := json.Marshal(v.ValueFrom)
			got[v.Name] = string(b)
		}
	}
	config, _ := json.Marshal(monitor.DefaultConfig())
	want := map[string]string{
		"MONITOR_ID":        "mon-00000000000070008000000000000000",
		"STREAM_URL":        "https://www.youtube.com/watch?v=obedient---",
		"CALLBACK_URL":      "https://receiver.example/hook",
		"CONFIG_JSON":       string(config),
		"GENERATION":        "3",
		"GATEWAY_URL":       "https://gateway:8081",
		"GATEWAY_CA_FILE":   "/etc/stream-monitor/ca/ca.crt",
		"LOG_LEVEL":         "info",
		"PROBE_LISTEN_ADDR": ":8082",
		"HOME":              "/tmp",
		"INTERNAL_API_KEY":  `{"secretKeyRef":{"name":"keys","key":"INTERNAL_API_KEY"}}`,
		"HTTP_PROXY":        "http://proxy.example:3128",
		"HTTPS_PROXY":       "http://proxy.example:3128",
	}
	if !maps.Equal(got, want) {
		t.Errorf("its environment is\n%v\nwant\n%v", got, want)
	}
}

func TestWhatIsNotAskedForIsNotThere(t *testing.T) {
	p := launched(t, nil)
	if n := len(p.Spec.Volumes); n != 2 {
		t.Errorf("%d volumes, want 2", n)
	}
	for _, v := range p.Spec.Containers[0].Env {
		if v.Name == "GATEWAY_CA_FILE" || v.Name == "HTTP_PROXY" || v.Name == "HTTPS_PROXY" {
			t.Errorf("there is %s", v.Name)
		}
	}
}

// Kubernetes puts the value of a variable wherever $(NAME) is said.
func TestNoAddressRevealsTheKey(t *testing.T) {
	s := simulate(t)
	cfg := settings()
	cfg.Environ = []string{"HTTP_PROXY=http://proxy/$(INTERNAL_API_KEY)"}
	l := open(t, s, cfg)
	j := job(launchertest.StopsWhenAsked)
	j.CallbackURL = "https://receiver.example/?key=$(INTERNAL_API_KEY)&$$(x)"
	if err := l.Launch(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.pods[j.ID.WorkerName()].Spec.Containers[0].Env {
		switch v.Name {
		case "CALLBACK_URL":
			expect(t, v.Name, v.Value, `"https://receiver.example/?key=$$(INTERNAL_API_KEY)\u0026$$$$(x)"`)
		case "HTTP_PROXY":
			expect(t, v.Name, v.Value, `"http://proxy/$$(INTERNAL_API_KEY)"`)
		}
	}
}
