//go:build cluster

package cluster_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

func install(t *testing.T, s *clusterEnv) {
	start := time.Now()
	must(t, s.upgrade(t.Context()))
	logProgress("installed and ready after %.1f s", time.Since(start).Seconds())
	must(t, s.connect(t.Context()))
	start = time.Now()
	out, err := run(t.Context(), "helm", "test", release, "-n", namespace, "--timeout", "90s")
	must(t, err)
	logProgress("helm test passed after %.1f s", time.Since(start).Seconds())
	if !regexp.MustCompile(`TEST SUITE: +stream-monitor-test\n(.*\n)*Phase: +Succeeded`).MatchString(out) {
		t.Errorf("helm test printed %s", out)
	}
}

func installed(t *testing.T, s *clusterEnv) {
	before, names := s.secret(t, release+"-tls"), s.gatewayNames(t)
	must(t, s.upgrade(t.Context()))
	after := s.secret(t, release+"-tls")
	for _, key := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if before[key] == "" || before[key] != after[key] {
			t.Errorf("an upgrade changed %s", key)
		}
	}
	if now := s.gatewayNames(t); !slices.Equal(now, names) {
		t.Errorf("an upgrade without a change replaced the pods %v by %v", names, now)
	}
	secretChecksum(t)
}

// secret returns the values of a Secret.
func (s *clusterEnv) secret(t *testing.T, name string) map[string]string {
	t.Helper()
	secret, err := s.api.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	values := map[string]string{}
	for key, value := range secret.Data {
		values[key] = string(value)
	}
	return values
}

// secretChecksum changes an existing Secret: an upgrade must roll out the gateways.
func secretChecksum(t *testing.T) {
	checksum := func() any {
		all, err := renderWith(t, []string{"--dry-run=server", "-n", namespace, "--kube-version", "v1.34.0"}, tag, "generate=false", "secret.existingSecret=keys", "tls.enabled=false")
		must(t, err)
		return all.field("Deployment/" + gateway + " spec template metadata annotations checksum/secret")
	}
	kubectl(t, "-n", namespace, "create", "secret", "generic", "keys", "--from-literal=API_KEY=a")
	defer kubectl(t, "-n", namespace, "delete", "secret", "keys")
	before, again := checksum(), checksum()
	kubectl(t, "-n", namespace, "patch", "secret", "keys", "--patch", `{"stringData": {"API_KEY": "b"}}`)
	if after := checksum(); before != again || before == after || before == nil {
		t.Errorf("the checksum is %v, then %v, and %v after a change", before, again, after)
	}
}

// gatewayNames lists the gateway's pods that are not terminating.
func (s *clusterEnv) gatewayNames(t *testing.T) (names []string) {
	t.Helper()
	pods, err := s.gatewayPods(t.Context())
	must(t, err)
	for _, p := range pods {
		if p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// uninstall removes the release while a stream is being watched. The keys and the authority
// stay, and another installation has them.
func uninstall(t *testing.T, s *clusterEnv) {
	s.Watch(t, scenario.Video{})
	kept := func() string { return s.secret(t, release)["SECRETS_KEY"] + s.secret(t, release+"-ca")["tls.crt"] }
	before := kept()
	start := time.Now()
	_, err := run(t.Context(), "helm", "uninstall", release, "-n", namespace, "--wait", "--timeout", "300s")
	must(t, err)
	logProgress("uninstalled after %.1f s", time.Since(start).Seconds())
	kinds := "pods,deployments,replicasets,services,endpoints,endpointslices,secrets,configmaps,jobs,serviceaccounts,roles,rolebindings,hpa,pdb,networkpolicies"
	var left string
	defer func() { t.Logf("left in the namespace at last: %s", left) }()
	s.Eventually(t, 15*time.Second, "nothing is left in the namespace", func() bool {
		left, err = run(t.Context(), "kubectl", "-n", namespace, "get", kinds, "-o", "name")
		for _, expected := range []string{"configmap/" + fakeConfigMap, "configmap/kube-root-ca.crt", "serviceaccount/default", "secret/" + release, "secret/" + release + "-ca"} {
			left = strings.ReplaceAll(left, expected+"\n", "")
		}
		return err == nil && strings.TrimSpace(left) == ""
	})
	must(t, s.upgrade(t.Context()))
	if before != kept() {
		t.Error("another installation has other keys, or another authority")
	}
	_, err = run(t.Context(), "helm", "uninstall", release, "-n", namespace, "--wait", "--timeout", "300s")
	must(t, err)
}
