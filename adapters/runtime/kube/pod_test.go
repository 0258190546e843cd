package kube_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// launchedPod returns the pod that a launcher with changed settings creates.
func launchedPod(t *testing.T, change func(*kube.Config)) *corev1.Pod {
	t.Helper()
	cluster := newFakeCluster(t)
	cfg := settings()
	cfg.Grace = 0
	if change != nil {
		change(&cfg)
	}
	l := newLauncher(t, cluster, cfg)
	if err := l.Launch(t.Context(), workerSpec(launchertest.StopsWhenAsked)); err != nil {
		t.Fatal(err)
	}
	return cluster.pod(podName)
}

// expectJSON compares a value, encoded as JSON, with want.
func expectJSON(t *testing.T, what string, got any, want string) {
	t.Helper()
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != want {
		t.Errorf("%s is\n%s\nwant\n%s", what, b, want)
	}
}

func TestAWorkerPodFollowsTheSpecification(t *testing.T) {
	p := launchedPod(t, func(c *kube.Config) {
		c.Environ = []string{"HTTP_PROXY=http://proxy.example:3128", "HTTPS_PROXY=http://proxy.example:3128", "MONITOR_ID=another", "LOG_LEVEL=error"}
		c.CASecret, c.Instance = "authority", "first"
	})
	c := p.Spec.Containers[0]

	// Section 8.1.
	expectJSON(t, "its name", p.Name, `"stream-monitor-mon-00000000000070008000000000000000"`)
	expectJSON(t, "its namespace", p.Namespace, `"streams"`)
	expectJSON(t, "its labels", p.Labels, `{"app":"stream-monitor","app.kubernetes.io/component":"worker","app.kubernetes.io/instance":"first",`+
		`"generation":"3","monitor-id":"mon-00000000000070008000000000000000"}`)
	expectJSON(t, "its restart policy", p.Spec.RestartPolicy, `"OnFailure"`)
	expectJSON(t, "the number of its containers", len(p.Spec.Containers), `1`)
	expectJSON(t, "its container", []any{c.Name, c.Image, c.Command, c.Args}, `["monitor","stream-monitor:1",null,["worker"]]`)
	expectJSON(t, "its resources", c.Resources, `{"limits":{"cpu":"500m","memory":"512Mi"},"requests":{"cpu":"100m","memory":"256Mi"}}`)
	expectJSON(t, "its volumes", p.Spec.Volumes, `[{"name":"workdir","emptyDir":{"sizeLimit":"1Gi"}},{"name":"tmp","emptyDir":{"sizeLimit":"1Gi"}},`+
		`{"name":"gateway-ca","secret":{"secretName":"authority","items":[{"key":"ca.crt","path":"ca.crt"}]}}]`)
	expectJSON(t, "its mounts", c.VolumeMounts, `[{"name":"workdir","mountPath":"/tmp/segments"},{"name":"tmp","mountPath":"/tmp"},`+
		`{"name":"gateway-ca","readOnly":true,"mountPath":"/etc/stream-monitor/ca"}]`)

	// Section 8.3.
	expectJSON(t, "its grace period", p.Spec.TerminationGracePeriodSeconds, `30`)

	// Section 8.7.
	expectJSON(t, "its liveness probe", c.LivenessProbe, `{"httpGet":{"path":"/healthz","port":"probes"},"timeoutSeconds":5,"periodSeconds":30,"failureThreshold":3}`)
	expectJSON(t, "its readiness probe", c.ReadinessProbe, `{"httpGet":{"path":"/readyz","port":"probes"},"timeoutSeconds":5,"periodSeconds":10,"failureThreshold":3}`)
	expectJSON(t, "its ports", c.Ports, `[{"name":"probes","containerPort":8082,"protocol":"TCP"}]`)

	// The fewest rights.
	expectJSON(t, "its security context", p.Spec.SecurityContext,
		`{"runAsUser":65532,"runAsGroup":65532,"runAsNonRoot":true,"fsGroup":65532,"seccompProfile":{"type":"RuntimeDefault"}}`)
	expectJSON(t, "its container's security context", c.SecurityContext,
		`{"capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false}`)
	expectJSON(t, "its service account token", p.Spec.AutomountServiceAccountToken, `false`)
	expectJSON(t, "its service links", p.Spec.EnableServiceLinks, `false`)

	// Sections 8.1, 8.6 and 14.2.
	got := map[string]string{}
	for _, v := range c.Env {
		if _, duplicate := got[v.Name]; duplicate {
			t.Errorf("%s is set twice", v.Name)
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
		"INTERNAL_API_KEY":  monitor.NewTokenKey("internal-key").Token("mon-00000000000070008000000000000000", 3),
		"HTTP_PROXY":        "http://proxy.example:3128",
		"HTTPS_PROXY":       "http://proxy.example:3128",
	}
	if !maps.Equal(got, want) {
		t.Errorf("its environment is\n%v\nwant\n%v", got, want)
	}
}

// Kubernetes replaces $(NAME) in a variable by the value of NAME.
func TestAnAddressCannotRevealTheKey(t *testing.T) {
	cluster := newFakeCluster(t)
	cfg := settings()
	cfg.Environ = []string{"HTTP_PROXY=http://proxy/$(INTERNAL_API_KEY)"}
	l := newLauncher(t, cluster, cfg)
	spec := workerSpec(launchertest.StopsWhenAsked)
	spec.CallbackURL = "https://receiver.example/?key=$(INTERNAL_API_KEY)&$$(x)"
	if err := l.Launch(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	for _, v := range cluster.pod(podName).Spec.Containers[0].Env {
		switch v.Name {
		case "CALLBACK_URL":
			expectJSON(t, v.Name, v.Value, `"https://receiver.example/?key=$$(INTERNAL_API_KEY)\u0026$$$$(x)"`)
		case "HTTP_PROXY":
			expectJSON(t, v.Name, v.Value, `"http://proxy/$$(INTERNAL_API_KEY)"`)
		}
	}
}

func TestAProxyAddressWithAUserIsTakenFromTheSecret(t *testing.T) {
	const list = "EGRESS_PROXIES"
	for name, c := range map[string]struct {
		variables []string
		value     string
		secret    bool
	}{
		"a password":       {[]string{"HTTP_PROXY", "HTTPS_PROXY"}, "http://u:geheim@proxy.example:3128", true},
		"a user":           {[]string{"HTTPS_PROXY"}, "http://geheim@proxy.example:3128", true},
		"without a scheme": {[]string{"HTTPS_PROXY"}, "u:geheim@proxy.example:3128", true},
		"characters that do not belong into a URL": {[]string{"HTTPS_PROXY"}, "http://u:gehe%im#@proxy.example:3128", true},
		"another scheme":        {[]string{"HTTPS_PROXY"}, "socks5h://u:geheim@proxy.example:1080", true},
		"no user":               {[]string{"HTTP_PROXY", "HTTPS_PROXY"}, "http://proxy.example:3128", false},
		"an @ in the path":      {[]string{"HTTPS_PROXY"}, "http://proxy.example:3128/@", false},
		"a list with a user":    {[]string{list}, "direct,http://u:geheim@proxy.example:3128", true},
		"a list without a user": {[]string{list}, "direct,http://proxy.example:3128", false},
	} {
		for _, variable := range c.variables {
			t.Run(name+", "+variable, func(t *testing.T) {
				p := launchedPod(t, func(cfg *kube.Config) { cfg.Environ = []string{variable + "=" + c.value} })
				env, want := p.Spec.Containers[0].Env, `{"name":"`+variable+`","value":"`+c.value+`"}`
				if c.secret {
					want = `{"name":"` + variable + `","valueFrom":{"secretKeyRef":{"name":"keys","key":"` + variable + `"}}}`
				}
				expectJSON(t, variable, env[slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == variable })], want)
				if b, _ := json.Marshal(p); strings.Contains(string(b), "geheim") || strings.Contains(string(b), "gehe%") {
					t.Error("the pod contains the password")
				}
			})
		}
	}
}

func TestAnyOtherAddressWithAUserIsRefused(t *testing.T) {
	for _, v := range []string{"http_proxy=http://u:geheim@proxy:3128", "ALL_PROXY=socks5://geheim@proxy", "MIRROR=https://u:geheim%@mirror.example/"} {
		cfg := settings()
		cfg.Environ = []string{v}
		name, _, _ := strings.Cut(v, "=")
		l, err := kube.New(kube.NewCluster(newFakeCluster(t).client, namespace), cfg)
		if err == nil {
			_ = l.Close(t.Context())
			t.Errorf("%s was accepted", name)
			continue
		}
		expectContains(t, err.Error(), name)
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%v reveals a secret", err)
		}
	}
	launchedPod(t, func(cfg *kube.Config) {
		cfg.Environ = []string{"TZ=Asia/Tokyo", "YTDLP_PATH=/opt/a@b/yt-dlp", "NO_PROXY=a.example,b.example", "MIRROR=https://mirror.example/@x"}
	})
}
