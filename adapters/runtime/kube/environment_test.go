package kube_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
)

func TestAProxysPasswordStaysInTheSecret(t *testing.T) {
	for name, c := range map[string]struct{ proxy, want string }{
		"a password":            {"http://u:geheim@proxy.example:3128", "secret"},
		"a user":                {"http://geheim@proxy.example:3128", "secret"},
		"without a scheme":      {"u:geheim@proxy.example:3128", "secret"},
		"one that does not fit": {"http://u:gehe%im#@proxy.example:3128", "secret"},
		"another scheme":        {"socks5h://u:geheim@proxy.example:1080", "secret"},
		"none":                  {"http://proxy.example:3128", "value"},
		"an @ somewhere else":   {"http://proxy.example:3128/@", "value"},
	} {
		for _, variable := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
			t.Run(name+", "+variable, func(t *testing.T) {
				p := launched(t, func(cfg *kube.Config) { cfg.Environ = []string{variable + "=" + c.proxy} })
				var found corev1.EnvVar
				for _, v := range p.Spec.Containers[0].Env {
					if v.Name == variable {
						found = v
					}
				}
				if c.want == "value" {
					expect(t, variable, found, `{"name":"`+variable+`","value":"`+c.proxy+`"}`)
					return
				}
				expect(t, variable, found, `{"name":"`+variable+`","valueFrom":{"secretKeyRef":{"name":"keys","key":"`+variable+`"}}}`)
				if b, _ := json.Marshal(p); strings.Contains(string(b), "geheim") || strings.Contains(string(b), "gehe%") {
					t.Error("the pod reveals it")
				}
			})
		}
	}
}

func TestNoOtherAddressMayHaveAPassword(t *testing.T) {
	for _, v := range []string{"http_proxy=http://u:geheim@proxy:3128", "ALL_PROXY=socks5://geheim@proxy", "MIRROR=https://u:geheim%@mirror.example/"} {
		cfg := settings()
		cfg.Environ = []string{v}
		name, _, _ := strings.Cut(v, "=")
		l, err := kube.New(kube.Of(simulate(t).client, namespace), cfg)
		if err == nil {
			_ = l.Close(t.Context())
			t.Errorf("%s was taken", name)
			continue
		}
		expectContains(t, err.Error(), name)
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%v reveals a secret", err)
		}
	}
	launched(t, func(cfg *kube.Config) {
		cfg.Environ = []string{"TZ=Asia/Tokyo", "YTDLP_PATH=/opt/a@b/yt-dlp", "NO_PROXY=a.example,b.example", "MIRROR=https://mirror.example/@x"}
	})
}
