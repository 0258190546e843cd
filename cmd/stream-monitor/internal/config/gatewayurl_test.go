package config

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/test/harness/certificate"
)

// makeCertificate makes a self-signed certificate for names and addresses.
func makeCertificate(t *testing.T, until time.Time, names ...string) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile, _ = certificate.New(t, until, names...)
	return certFile, keyFile
}

func TestWorkersGetAURLThatReachesTheGateway(t *testing.T) {
	for name, c := range map[string]struct {
		listen, bound, plain, secure string
	}{
		"everywhere":             {":8081", "[::]:8081", "http://127.0.0.1:8081", "https://localhost:8081"},
		"everywhere, by IPv4":    {"0.0.0.0:8081", "0.0.0.0:8081", "http://127.0.0.1:8081", "https://localhost:8081"},
		"at one address":         {"127.0.0.2:0", "127.0.0.2:34567", "http://127.0.0.2:34567", "https://127.0.0.2:34567"},
		"at one IPv6 address":    {"[fd00::2]:8081", "[fd00::2]:8081", "http://[fd00::2]:8081", "https://[fd00::2]:8081"},
		"at a link's address":    {"[fe80::2%eth0]:8081", "[fe80::2%eth0]:8081", "http://[fe80::2%25eth0]:8081", "https://[fe80::2%25eth0]:8081"},
		"where a name points to": {"gw.example:8081", "10.0.0.7:8081", "http://10.0.0.7:8081", "https://gw.example:8081"},
	} {
		t.Run(name, func(t *testing.T) {
			bound, err := net.ResolveTCPAddr("tcp", c.bound)
			if err != nil {
				t.Fatal(err)
			}
			for file, want := range map[string]string{"": c.plain, "cert.pem": c.secure} {
				serve := Serve{InternalListenAddr: c.listen, TLSCertFile: file}
				if got, err := serve.WorkersURL(bound); err != nil || got != want {
					t.Errorf("is %s (%v), want %s", got, err, want)
				}
			}
		})
	}
}

func TestTheCertificateMustNameTheGateway(t *testing.T) {
	clearEnvironment(t)
	tomorrow := time.Now().Add(24 * time.Hour)
	cert, key := makeCertificate(t, tomorrow, "localhost", "127.0.0.2", "gw.example")
	for _, listen := range []string{":8081", "127.0.0.2:8081", "gw.example:8081"} {
		mustParse(t, "serve", "--tls-cert-file", cert, "--tls-key-file", key, "--internal-listen-addr", listen)
	}

	_, another := makeCertificate(t, tomorrow, "localhost")
	elsewhere, elsewhereKey := makeCertificate(t, tomorrow, "monitor.example.com")
	old, oldKey := makeCertificate(t, time.Now().Add(-time.Hour), "localhost")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ cert, key, listen, says string }{
		"another certificate's key":         {cert, another, ":8081", "TLS_KEY_FILE"},
		"files with nothing in them":        {empty, empty, ":8081", "TLS_KEY_FILE"},
		"a certificate for another host":    {elsewhere, elsewhereKey, ":8081", "not valid for localhost"},
		"a certificate without the address": {cert, key, "127.0.0.3:8081", "not valid for 127.0.0.3"},
		"a certificate that has run out":    {old, oldKey, ":8081", "expired"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			got := mustRefuse(t, "serve", "--tls-cert-file", c.cert, "--tls-key-file", c.key, "--internal-listen-addr", c.listen)
			if len(got) != 1 || !strings.HasPrefix(got[0], "TLS_CERT_FILE (--tls-cert-file)") || !strings.Contains(got[0], c.says) {
				t.Errorf("says %q", got)
			}
		})
	}
}

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
