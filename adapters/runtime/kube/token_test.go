package kube_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// tokenOf returns the variable in which a pod has its token.
func tokenOf(p *corev1.Pod) *corev1.EnvVar {
	env := p.Spec.Containers[0].Env
	return &env[slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == "INTERNAL_API_KEY" })]
}

func TestAPodWithATokenOfAnotherKeyIsListedAsRefused(t *testing.T) { // decision O9
	changed := settings()
	changed.Tokens = monitor.NewTokenKey("another internal key")
	for name, c := range map[string]struct {
		keyChanged bool
		refused    bool
	}{
		"its token is of this key":    {false, false},
		"its token is of another key": {true, true},
	} {
		scenario(t, name, func(t *testing.T) {
			cluster := newFakeCluster(t)
			l := newLauncher(t, cluster, settings())
			launch(t, cluster, l, workerSpec(launchertest.StopsWhenAsked))
			if c.keyChanged {
				l = newLauncher(t, cluster, changed)
			}
			all, err := l.Workers(t.Context())
			if err != nil || len(all) != 1 || all[0].Refused != c.refused {
				t.Errorf("got %+v, %v", all, err)
			}
		})
	}
}

// An operator's template must not give a worker a key of its own.
func TestATemplateCannotReplaceTheToken(t *testing.T) {
	p := launchedPod(t, func(cfg *kube.Config) {
		cfg.PodTemplateFile = templateFile(t, "spec: {containers: [{name: monitor, env: [{name: INTERNAL_API_KEY, value: root}]}]}")
	})
	if got, want := tokenOf(p).Value, settings().Tokens.Token(workerSpec("").ID, 3); got != want {
		t.Errorf("the token is %s, want %s", got, want)
	}
}
