//go:build cluster

package cluster_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

const (
	release = "stream-monitor"
	gateway = release + "-gateway" // Deployment and ServiceAccount, as section 14.3 names them
	chart   = "../../../deploy/helm/stream-monitor"

	ours    = "app.kubernetes.io/instance=" + release
	workers = ours + ",app.kubernetes.io/component=worker"
)

// firstImage is what the release is installed with, nextImage what it is upgraded to.
var firstImage, nextImage = os.Getenv("STREAM_MONITOR_IMAGE"), os.Getenv("STREAM_MONITOR_NEXT_IMAGE")

// parted is an image's name and its tag.
func parted(image string) (repository, tag string) {
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[:i], image[i+1:]
	}
	return image, ""
}

// values is what the release is installed with: the chart's defaults, and what
// leads it to the stand-ins.
func (s *site) values() map[string]any {
	repository, tag := parted(firstImage)
	mount := filepath.Join(s.dir, "youtube")
	return map[string]any{
		"image": map[string]any{"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"},
		"secret": map[string]any{"values": map[string]any{
			"DB_DSN":  s.database.dsn(),
			"API_KEY": system.APIKey, "INTERNAL_API_KEY": system.InternalKey, "WEBHOOK_SIGNING_KEY": system.SigningKey,
			"HTTP_PROXY": s.YouTube.Proxy(), "HTTPS_PROXY": s.YouTube.Proxy(),
		}},
		"settings": map[string]any{
			"MISSING_WORKER":            "relaunch",
			"RATE_LIMIT_CREATE_PER_MIN": 0, "RATE_LIMIT_QUERY_PER_MIN": 0,
			"CALLBACK_ALLOWED_NETWORKS": s.host + "/32",
		},
		"service": map[string]any{"type": "NodePort"},
		"worker": map[string]any{
			"extraEnv":          s.environment(),
			"extraVolumes":      []any{map[string]any{"name": "youtube", "configMap": map[string]any{"name": authority, "items": []any{map[string]any{"key": "ca.pem", "path": "ca.pem"}, map[string]any{"key": "certifi", "path": "python/certifi/__init__.py"}}}}},
			"extraVolumeMounts": []any{map[string]any{"name": "youtube", "mountPath": mount, "readOnly": true}},
		},
	}
}

// helm installs the release or upgrades it, and waits until it is rolled out.
func (s *site) helm(ctx context.Context, set ...string) error {
	values, err := json.Marshal(s.values())
	if err != nil {
		return err
	}
	args := []string{"upgrade", "--install", release, chart, "-n", namespace, "--wait", "--timeout", "180s", "-f", "-"}
	for _, one := range set {
		args = append(args, "--set", one)
	}
	_, err = fed(ctx, string(values), "helm", args...)
	return err
}

// connect finds the release's public API: through its Service, at a port of the
// node, with the authority that the chart has made.
func (s *site) connect(ctx context.Context) error {
	var service, secret object
	if err := s.kube.get(ctx, in("services")+"/"+release, &service); err != nil {
		return err
	}
	if err := s.kube.get(ctx, in("secrets")+"/"+release+"-tls", &secret); err != nil {
		return err
	}
	ca, err := base64.StdEncoding.DecodeString(secret.Data["ca.crt"])
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(ca) {
		return errors.Join(errors.New("the chart has made no authority"), err)
	}
	at := net.JoinHostPort(s.node, fmt.Sprint(service.Spec.Ports[0].NodePort))
	s.Service = system.Remote("https://"+at, &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: release + "." + namespace + ".svc", MinVersion: tls.VersionTLS12},
	}})
	return nil
}

// in is the path of a kind of thing in the namespace.
func in(kind string) string { return "/api/v1/namespaces/" + namespace + "/" + kind }

func selected(kind, labels string) string {
	return in(kind) + "?labelSelector=" + url.QueryEscape(labels)
}

// worker is the pod of a monitor; none: its name is empty.
func (s *site) worker(ctx context.Context, id string) (object, error) {
	pods, err := s.kube.list(ctx, selected("pods", workers+",monitor-id="+id))
	if err != nil || len(pods) == 0 {
		return object{}, err
	}
	if len(pods) > 1 {
		return object{}, fmt.Errorf("monitor %s has %d pods", id, len(pods))
	}
	return pods[0], nil
}

// gateways is the pods of the gateway.
func (s *site) gateways(ctx context.Context) ([]object, error) {
	return s.kube.list(ctx, selected("pods", ours+",app.kubernetes.io/component=gateway"))
}

// killed ends the program in a pod's container by SIGKILL, as the kernel does
// when memory is short. The container's first process, which only passes signals
// on, ends with it.
func killed(ctx context.Context, pod, container string) error {
	const kill = `for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = stream-monitor ] && kill -9 ${p#/proc/}; done; true`
	_, err := run(ctx, "kubectl", "-n", namespace, "exec", pod, "-c", container, "--", "sh", "-c", kill)
	return err
}

// evicted asks for a pod's eviction, as kubectl drain does.
func (s *site) evicted(ctx context.Context, pod string) error {
	return s.kube.call(ctx, http.MethodPost, in("pods")+"/"+pod+"/eviction", "application/json", map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": pod, "namespace": namespace},
	}, nil)
}

func (s *site) deleted(ctx context.Context, pod string) error {
	return s.kube.call(ctx, http.MethodDelete, in("pods")+"/"+pod, "application/json", nil, nil)
}

// scaled sets how many gateways there are, and waits until it is so.
func (s *site) scaled(ctx context.Context, n int) error {
	if _, err := run(ctx, "kubectl", "-n", namespace, "scale", "deployment/"+gateway, fmt.Sprint("--replicas=", n)); err != nil {
		return err
	}
	if _, err := run(ctx, "kubectl", "-n", namespace, "rollout", "status", "deployment/"+gateway, "--timeout=120s"); err != nil {
		return err
	}
	return s.settled(ctx, n)
}

// settled waits until there are so many gateways, and none that drains.
func (s *site) settled(ctx context.Context, n int) error {
	return until(ctx, 90*time.Second, fmt.Sprint(n, " gateways"), func() bool {
		pods, err := s.gateways(ctx)
		return err == nil && len(pods) == n
	})
}

// until waits for something to be so.
func until(ctx context.Context, within time.Duration, what string, is func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for tick := time.Tick(50 * time.Millisecond); !is(); {
		select {
		case <-tick:
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %s", within, what)
		}
	}
	return nil
}
