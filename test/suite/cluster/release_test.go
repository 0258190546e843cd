//go:build cluster

package cluster_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

const (
	release = "stream-monitor"
	gateway = release + "-gateway" // name of Deployment and ServiceAccount (section 14.3)
	chart   = "../../../deploy/helm/stream-monitor"

	releaseSelector = "app.kubernetes.io/instance=" + release
	workerSelector  = releaseSelector + ",app.kubernetes.io/component=worker"
)

// The release is installed with firstImage and upgraded to nextImage.
var firstImage, nextImage = os.Getenv("STREAM_MONITOR_IMAGE"), os.Getenv("STREAM_MONITOR_NEXT_IMAGE")

// splitImage splits an image's name and its tag.
func splitImage(image string) (repository, tag string) {
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[:i], image[i+1:]
	}
	return image, ""
}

// values returns the values of the release that the fakes and the database need. The
// others are the chart's defaults.
func (s *clusterEnv) values() map[string]any {
	repository, tag := splitImage(firstImage)
	return map[string]any{
		"image": map[string]any{"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent", "architecture": runtime.GOARCH},
		"secret": map[string]any{"values": map[string]any{
			"DB_DSN":  s.database.dsn(),
			"API_KEY": system.APIKey, "INTERNAL_API_KEY": system.InternalKey, "WEBHOOK_SIGNING_KEY": system.SigningKey,
			"HTTP_PROXY": s.YouTube.Proxy(), "HTTPS_PROXY": s.YouTube.Proxy(),
		}},
		"settings": map[string]any{
			"MISSING_WORKER":            "relaunch",
			"RATE_LIMIT_CREATE_PER_MIN": 0, "RATE_LIMIT_QUERY_PER_MIN": 0,
			"CALLBACK_ALLOWED_NETWORKS": s.hostAddress + "/32",
		},
		"service": map[string]any{"type": "NodePort"},
		"worker": map[string]any{
			"extraEnv":          s.workerEnv(),
			"extraVolumes":      []any{map[string]any{"name": "youtube", "configMap": map[string]any{"name": fakeConfigMap, "items": []any{map[string]any{"key": "ca.pem", "path": "ca.pem"}, map[string]any{"key": "certifi", "path": "python/certifi/__init__.py"}}}}},
			"extraVolumeMounts": []any{map[string]any{"name": "youtube", "mountPath": s.FakeDir(), "readOnly": true}},
		},
	}
}

// upgrade installs or upgrades the release, and waits for the rollout.
func (s *clusterEnv) upgrade(ctx context.Context, set ...string) error {
	values, err := json.Marshal(s.values())
	if err != nil {
		return err
	}
	args := []string{"upgrade", "--install", release, chart, "-n", namespace, "--wait", "--timeout", "180s", "-f", "-"}
	for _, one := range set {
		args = append(args, "--set", one)
	}
	_, err = runWithInput(ctx, string(values), "helm", args...)
	return err
}

// connect makes the client of the release's public API. It uses the Service's
// NodePort and the certificate authority that the chart has generated.
func (s *clusterEnv) connect(ctx context.Context) error {
	service, err := s.api.CoreV1().Services(namespace).Get(ctx, release, metav1.GetOptions{})
	if err != nil {
		return err
	}
	secret, err := s.api.CoreV1().Secrets(namespace).Get(ctx, release+"-tls", metav1.GetOptions{})
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		return errors.New("the chart has made no certificate authority")
	}
	at := net.JoinHostPort(s.nodeAddress, fmt.Sprint(service.Spec.Ports[0].NodePort))
	s.Service = system.Remote("https://"+at, &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: release + "." + namespace + ".svc", MinVersion: tls.VersionTLS12},
	}})
	return nil
}

// pods lists the pods of the namespace with these labels.
func (s *clusterEnv) pods(ctx context.Context, labels string) ([]corev1.Pod, error) {
	list, err := s.api.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// workerPods lists the UIDs of a monitor's pods.
func (s *clusterEnv) workerPods(t *testing.T, id string) (uids []string) {
	t.Helper()
	pods, err := s.pods(t.Context(), workerSelector+",monitor-id="+id)
	must(t, err)
	for _, p := range pods {
		uids = append(uids, string(p.UID))
	}
	return uids
}

// workerPod returns the only pod of a monitor.
func (s *clusterEnv) workerPod(t *testing.T, id string) corev1.Pod {
	t.Helper()
	pods, err := s.pods(t.Context(), workerSelector+",monitor-id="+id)
	must(t, err)
	if len(pods) != 1 {
		t.Fatalf("monitor %s has %d pods", id, len(pods))
	}
	return pods[0]
}

// gatewayPods lists the pods of the gateway.
func (s *clusterEnv) gatewayPods(ctx context.Context) ([]corev1.Pod, error) {
	return s.pods(ctx, releaseSelector+",app.kubernetes.io/component=gateway")
}

// killInPod sends SIGKILL to the program in a container, as the kernel does when
// memory is short. The container's init (tini) exits with it, and may take the shell with
// it that has sent the signal.
func killInPod(ctx context.Context, pod, container string) error {
	const kill = `for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = stream-monitor ] && kill -9 ${p#/proc/}; done; true`
	_, err := run(ctx, "kubectl", "-n", namespace, "exec", pod, "-c", container, "--", "sh", "-c", kill)
	if err != nil && strings.Contains(err.Error(), "exit code 137") {
		return nil
	}
	return err
}

// evict requests a pod's eviction, as kubectl drain does.
func (s *clusterEnv) evict(ctx context.Context, pod string) error {
	return s.api.PolicyV1().Evictions(namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: namespace}})
}

func (s *clusterEnv) deletePod(ctx context.Context, pod string) error {
	return s.api.CoreV1().Pods(namespace).Delete(ctx, pod, metav1.DeleteOptions{})
}

// scaleGateways scales the Deployment and waits for the rollout.
func (s *clusterEnv) scaleGateways(t *testing.T, n int) {
	t.Helper()
	kubectl(t, "-n", namespace, "scale", "deployment/"+gateway, fmt.Sprint("--replicas=", n))
	kubectl(t, "-n", namespace, "rollout", "status", "deployment/"+gateway, "--timeout=120s")
	s.waitForGateways(t, n)
}

// waitForGateways waits for exactly n gateway pods, without terminating ones.
func (s *clusterEnv) waitForGateways(t *testing.T, n int) {
	t.Helper()
	s.Eventually(t, 90*time.Second, fmt.Sprint(n, " gateways"), func() bool {
		pods, err := s.gatewayPods(t.Context())
		return err == nil && len(pods) == n
	})
}
