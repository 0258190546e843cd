package config

import (
	"fmt"
	"net"
	"strings"
)

// SameKeys is the problem that one key opens both APIs (section 8.6).
const SameKeys = "INTERNAL_API_KEY (--internal-api-key) is the same as API_KEY (--api-key); " +
	"accepted are two different keys: a worker must not be able to use the public API"

// check finds settings that contradict each other, and keys that are missing in
// production (decision P4).
func (c *Serve) check() (found []problem) {
	if c.Database.Production() {
		for _, key := range []struct {
			name, env, use string
			missing        bool
		}{
			{"api-key", "API_KEY", "the key that callers of the API present", c.Keys.APIKey == ""},
			{"webhook-signing-key", "WEBHOOK_SIGNING_KEY", "the key that signs webhooks", len(c.Keys.WebhookSigningKey) == 0},
			{"internal-api-key", "INTERNAL_API_KEY", "the key that workers present to the gateway", c.Keys.InternalAPIKey == ""},
		} {
			if key.missing {
				found = append(found, problem{key.name,
					fmt.Sprintf("%s (--%s) is missing; it is required when DB_DSN is set: %s", key.env, key.name, key.use)})
			}
		}
	}
	if c.WorkerRuntime == RuntimeKubernetes {
		found = append(found, c.Pods.check()...)
		if u := c.Pods.WorkerGatewayURL; u != "" && strings.HasPrefix(u, "https:") != (c.TLSCertFile != "") {
			found = append(found, problem{"worker-gateway-url", fmt.Sprintf("WORKER_GATEWAY_URL (--worker-gateway-url) is %q; "+
				"accepted is https:// with TLS_CERT_FILE, http:// without", u)})
		}
		if c.Keys.InternalAPIKey == "" && !c.Database.Production() {
			found = append(found, problem{"internal-api-key",
				"INTERNAL_API_KEY (--internal-api-key) is missing; it is required with WORKER_RUNTIME=kubernetes: the same as WORKER_SECRET has"})
		}
	}
	if c.Keys.APIKey != "" && c.Keys.APIKey == c.Keys.InternalAPIKey {
		found = append(found, problem{"internal-api-key", SameKeys})
	}
	switch {
	case c.TLSCertFile != "" && c.TLSKeyFile == "":
		found = append(found, problem{"tls-key-file", "TLS_KEY_FILE (--tls-key-file) is missing; TLS_CERT_FILE needs it"})
	case c.TLSCertFile == "" && c.TLSKeyFile != "":
		found = append(found, problem{"tls-cert-file", "TLS_CERT_FILE (--tls-cert-file) is missing; TLS_KEY_FILE needs it"})
	case c.TLSCertFile != "" && c.workersName() != "":
		found = append(found, c.checkCertificate()...)
	}
	if _, port, err := net.SplitHostPort(c.ListenAddr); err == nil && port != "0" && c.ListenAddr == c.InternalListenAddr {
		found = append(found, problem{"internal-listen-addr",
			fmt.Sprintf("INTERNAL_LISTEN_ADDR (--internal-listen-addr) is %q; accepted is another address than LISTEN_ADDR", c.InternalListenAddr)})
	}
	return found
}

// check finds missing settings without which no worker pod can run.
func (f PodFlags) check() (found []problem) {
	for _, setting := range []struct{ name, env, value, use string }{
		{"worker-image", "WORKER_IMAGE", f.WorkerImage, "the image of worker pods"},
		{"worker-gateway-url", "WORKER_GATEWAY_URL", f.WorkerGatewayURL, "where worker pods find the gateway"},
		{"worker-secret", "WORKER_SECRET", f.WorkerSecret, "the secret whose INTERNAL_API_KEY they get"},
	} {
		if setting.value == "" {
			found = append(found, problem{setting.name, fmt.Sprintf("%s (--%s) is missing; it is required with WORKER_RUNTIME=kubernetes: %s",
				setting.env, setting.name, setting.use)})
		}
	}
	return found
}

// check finds missing settings without which a worker cannot run.
func (c *Worker) check() (found []problem) {
	for _, setting := range []struct {
		name, env string
		missing   bool
	}{
		{"monitor-id", "MONITOR_ID", c.MonitorID == ""},
		{"generation", "GENERATION", c.Generation == 0},
		{"gateway-url", "GATEWAY_URL", c.GatewayURL == ""},
		{"internal-api-key", "INTERNAL_API_KEY", c.InternalAPIKey == ""},
	} {
		if setting.missing {
			found = append(found, problem{setting.name,
				fmt.Sprintf("%s (--%s) is missing; the gateway gives it to every worker it starts", setting.env, setting.name)})
		}
	}
	return found
}
