package config

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// SameKeys is the message when both APIs have the same key (section 8.6).
const SameKeys = "INTERNAL_API_KEY (--internal-api-key) is the same as API_KEY (--api-key); " +
	"accepted are two different keys: a worker must not be able to use the public API"

// check finds settings that contradict each other, and missing keys if DB_DSN is set
// (decision P4).
func (c *Serve) check() (found []problem) {
	// A keys.json has all of them. It must be there: several gateways may not generate different keys.
	if _, err := os.Stat(KeysPath(c.Database.DataDir)); c.Database.HasExternalDatabase() && err != nil {
		uses := map[string]string{
			"API_KEY":             "the key that callers of the API present",
			"INTERNAL_API_KEY":    "the key from which the tokens of workers come",
			"WEBHOOK_SIGNING_KEY": "the key that signs webhooks",
		}
		for _, env := range c.Keys.Missing() {
			name := strings.ToLower(strings.ReplaceAll(env, "_", "-"))
			found = append(found, problem{name,
				fmt.Sprintf("%s (--%s) is missing; it is required when DB_DSN is set: %s; or put a keys.json into DATA_DIR. "+
					"After a restore give all five keys of the gateway before: SECRETS_KEY and EVIDENCE_LINK_KEY, too", env, name, uses[env])})
		}
	}
	if c.WorkerRuntime == RuntimeKubernetes {
		found = append(found, c.Pods.check()...)
		if u := c.Pods.WorkerGatewayURL; u != "" && strings.HasPrefix(u, "https:") != (c.TLSCertFile != "") {
			found = append(found, problem{"worker-gateway-url", fmt.Sprintf("WORKER_GATEWAY_URL (--worker-gateway-url) is %q; "+
				"accepted is https:// with TLS_CERT_FILE, http:// without", u)})
		}
		if c.Keys.InternalAPIKey == "" && !c.Database.HasExternalDatabase() {
			found = append(found, problem{"internal-api-key",
				"INTERNAL_API_KEY (--internal-api-key) is missing; it is required with WORKER_RUNTIME=kubernetes, the same for all gateways: the tokens of workers come from it"})
		}
	}
	if c.Keys.APIKey != "" && c.Keys.APIKey == c.Keys.InternalAPIKey {
		found = append(found, problem{"internal-api-key", SameKeys})
	}
	found = append(found, c.Evidence.check()...)
	found = append(found, c.Opinion.check()...)
	found = append(append(found, c.YouTube.check()...), c.Twitch.check()...)
	switch {
	case c.TLSCertFile != "" && c.TLSKeyFile == "":
		found = append(found, problem{"tls-key-file", "TLS_KEY_FILE (--tls-key-file) is missing; TLS_CERT_FILE needs it"})
	case c.TLSCertFile == "" && c.TLSKeyFile != "":
		found = append(found, problem{"tls-cert-file", "TLS_CERT_FILE (--tls-cert-file) is missing; TLS_KEY_FILE needs it"})
	case c.TLSCertFile != "" && c.certificateHost() != "":
		found = append(found, c.checkCertificate()...)
	}
	if _, port, err := net.SplitHostPort(c.ListenAddr); err == nil && port != "0" && c.ListenAddr == c.InternalListenAddr {
		found = append(found, problem{"internal-listen-addr",
			fmt.Sprintf("INTERNAL_LISTEN_ADDR (--internal-listen-addr) is %q; accepted is another address than LISTEN_ADDR", c.InternalListenAddr)})
	}
	return found
}

// check finds missing keys of an S3 bucket.
func (f EvidenceFlags) check() (found []problem) {
	if _, _, is := f.Bucket(); !is {
		return nil
	}
	for _, setting := range []struct{ name, env, value string }{
		{"evidence-s3-access-key", "EVIDENCE_S3_ACCESS_KEY", f.EvidenceS3AccessKey},
		{"evidence-s3-secret-key", "EVIDENCE_S3_SECRET_KEY", f.EvidenceS3SecretKey},
	} {
		if setting.value == "" {
			found = append(found, problem{setting.name, fmt.Sprintf("%s (--%s) is missing; it is required with EVIDENCE_STORE=%s",
				setting.env, setting.name, f.EvidenceStore)})
		}
	}
	return found
}

// check finds a missing key of second opinions.
func (f OpinionFlags) check() (found []problem) {
	if f.SecondOpinionURL != "" && len(f.SecondOpinionKey) == 0 {
		found = append(found, problem{"second-opinion-key", "SECOND_OPINION_KEY (--second-opinion-key) is missing; SECOND_OPINION_URL needs it: the key that signs the questions"})
	}
	return found
}

// check finds a missing half of the OAuth client.
func (f YouTubeFlags) check() []problem {
	return missingHalf("youtube-oauth-client-id", f.OAuthClientID, "youtube-oauth-client-secret", f.OAuthClientSecret)
}

// check finds a missing half of the application's credentials.
func (f TwitchFlags) check() []problem {
	found := missingHalf("twitch-client-id", f.ClientID, "twitch-client-secret", f.ClientSecret)
	u, err := url.Parse(f.EventSubURL)
	switch {
	case f.EventSubURL == "":
	case f.ClientID == "":
		found = append(found, problem{"twitch-client-id", "TWITCH_CLIENT_ID (--twitch-client-id) is missing; TWITCH_EVENTSUB_URL needs it"})
	case err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" && u.Port() != "443":
		found = append(found, problem{"twitch-eventsub-url", fmt.Sprintf("TWITCH_EVENTSUB_URL (--twitch-eventsub-url) is %q; accepted is https://HOST on port 443, because Twitch sends nowhere else", f.EventSubURL)})
	}
	return found
}

// missingHalf finds which of two settings is missing that need each other.
func missingHalf(id, idValue, secret, secretValue string) []problem {
	if (idValue == "") == (secretValue == "") {
		return nil
	}
	missing, there := id, secret
	if idValue != "" {
		missing, there = secret, id
	}
	env := func(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
	return []problem{{missing, fmt.Sprintf("%s (--%s) is missing; %s needs it", env(missing), missing, env(there))}}
}

// check finds settings that worker pods require and that are missing.
func (f PodFlags) check() (found []problem) {
	for _, setting := range []struct{ name, env, value, use string }{
		{"worker-image", "WORKER_IMAGE", f.WorkerImage, "the image of worker pods"},
		{"worker-gateway-url", "WORKER_GATEWAY_URL", f.WorkerGatewayURL, "the URL of the internal API for worker pods"},
	} {
		if setting.value == "" {
			found = append(found, problem{setting.name, fmt.Sprintf("%s (--%s) is missing; it is required with WORKER_RUNTIME=kubernetes: %s",
				setting.env, setting.name, setting.use)})
		}
	}
	return found
}

// check finds settings that a worker requires and that are missing.
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
