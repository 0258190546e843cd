package config

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

func TestServeInAClusterRunsWorkerPods(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	for env, value := range map[string]string{"WORKER_IMAGE": "sm:1", "WORKER_GATEWAY_URL": "http://gateway:8081", "INTERNAL_API_KEY": "an-internal-key-for-tests"} {
		t.Setenv(env, value)
	}
	t.Run("a lost worker ends its monitor, unless it is told otherwise", func(t *testing.T) { // decision O3
		serve := mustParse(t, "serve").Serve
		if serve.WorkerRuntime != "kubernetes" || serve.MissingWorkerPolicy() != supervisor.EndMonitor {
			t.Errorf("%s has %s", serve.WorkerRuntime, serve.MissingWorkerPolicy())
		}
		if serve := mustParse(t, "serve", "--missing-worker=relaunch").Serve; serve.MissingWorkerPolicy() != supervisor.Relaunch {
			t.Errorf("told otherwise it has %s", serve.MissingWorkerPolicy())
		}
	})
	t.Run("other runtimes can be had there, too", func(t *testing.T) {
		if serve := mustParse(t, "serve", "--worker-runtime=inline").Serve; serve.MissingWorkerPolicy() != supervisor.Relaunch {
			t.Errorf("inline has %s", serve.MissingWorkerPolicy())
		}
	})
	t.Run("the certificate is for the name that workers are told", func(t *testing.T) {
		cert, key := makeCertificate(t, time.Now().Add(time.Hour), "gateway.ns.svc")
		secure := []string{"serve", "--tls-cert-file=" + cert, "--tls-key-file=" + key}
		mustParse(t, append(secure, "--worker-gateway-url=https://gateway.ns.svc:8081")...)
		if got := mustRefuse(t, append(secure, "--worker-gateway-url=https://other.ns.svc:8081")...); !strings.Contains(got[0], "other.ns.svc") || !strings.Contains(got[0], "WORKER_GATEWAY_URL") {
			t.Errorf("says %q", got)
		}
		if got := mustRefuse(t, secure...); !strings.HasPrefix(got[0], "WORKER_GATEWAY_URL (--worker-gateway-url) is ") {
			t.Errorf("says %q of a URL without TLS", got)
		}
	})
}
