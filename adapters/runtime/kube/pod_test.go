package kube_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
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
	mustLaunch(t, l, workerSpec(launchertest.StopsWhenAsked))
	return cluster.pod(podName)
}

// expectJSON compares a value, encoded as JSON, with want.
func expectJSON(t *testing.T, what string, got any, want string) {
	t.Helper()
	b := must.Get(json.Marshal(got))(t)
	if string(b) != want {
		t.Errorf("%s is\n%s\nwant\n%s", what, b, want)
	}
}

// expectPod compares a pod with that of a file in testdata.
func expectPod(t *testing.T, got *corev1.Pod, file string) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("testdata", file)))(t)
	config := must.Get(json.Marshal(monitor.DefaultConfig()))(t)
	token := settings().Tokens.Token(workerSpec("").ID, 3)
	text = []byte(strings.NewReplacer("{{config}}", string(config), "{{token}}", token).Replace(string(text)))
	want := &corev1.Pod{}
	must.Do(t, yaml.UnmarshalStrict(text, want))
	got.UID, got.ResourceVersion, got.Status = "", "", corev1.PodStatus{}
	is, isErr := yaml.Marshal(got)
	wanted, wantedErr := yaml.Marshal(want)
	if err := errors.Join(isErr, wantedErr); err != nil || string(is) != string(wanted) {
		t.Errorf("the pod is\n%s\nwant\n%s%v", is, wanted, err)
	}
}

func TestAWorkerPodFollowsTheSpecification(t *testing.T) {
	expectPod(t, launchedPod(t, func(c *kube.Config) {
		c.Environ = []string{"HTTP_PROXY=http://proxy.example:3128", "HTTPS_PROXY=http://proxy.example:3128", "MONITOR_ID=another", "LOG_LEVEL=error"}
		c.CASecret, c.Instance = "authority", "first"
	}), "pod.yaml")
}

// Kubernetes replaces $(NAME) in a variable by the value of NAME.
func TestAnAddressCannotRevealTheKey(t *testing.T) {
	cluster := newFakeCluster(t)
	cfg := settings()
	cfg.Environ = []string{"HTTP_PROXY=http://proxy/$(INTERNAL_API_KEY)"}
	l := newLauncher(t, cluster, cfg)
	spec := workerSpec(launchertest.StopsWhenAsked)
	spec.CallbackURL = "https://receiver.example/?key=$(INTERNAL_API_KEY)&$$(x)"
	mustLaunch(t, l, spec)
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
		expect.Failure(t, err, name)
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%v reveals a secret", err)
		}
	}
	launchedPod(t, func(cfg *kube.Config) {
		cfg.Environ = []string{"TZ=Asia/Tokyo", "YTDLP_PATH=/opt/a@b/yt-dlp", "NO_PROXY=a.example,b.example", "MIRROR=https://mirror.example/@x"}
	})
}
