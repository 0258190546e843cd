package youtube_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Without this a test could reach the real YouTube, and nobody would notice.
func TestOtherHostsAreRefusedAndRecorded(t *testing.T) {
	y := startServer(t)
	client := newClient(t, y)
	for _, u := range []string{"https://example.com/", "http://www.youtube.com/", "https://www.youtube.com:8443/", "https://notyoutube.com/"} {
		if resp, err := client.Get(u); err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %s", u, resp.Status)
			}
		}
	}
	if got := strings.Join(y.RefusedHosts(), " "); got != "example.com:443 www.youtube.com www.youtube.com:8443 notyoutube.com:443" {
		t.Errorf("RefusedHosts = %s", got)
	}
}

func startServer(t *testing.T) *youtube.Server {
	t.Helper()
	y, err := youtube.Start(youtube.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := y.Close(); err != nil {
			t.Error(err)
		}
	})
	return y
}

// newClient returns an HTTP client that follows the variables of Env.
func newClient(t *testing.T, y *youtube.Server) *http.Client {
	t.Helper()
	env := map[string]string{}
	for _, line := range y.Env() {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	proxy, err := url.Parse(env["HTTPS_PROXY"])
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.ReadFile(env["SSL_CERT_FILE"])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(root) {
		t.Fatal("no certificate in SSL_CERT_FILE")
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
