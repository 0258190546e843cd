package youtube_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Without this a test could reach the real YouTube, and nobody would notice.
func TestOtherHostsAreRefusedAndRecorded(t *testing.T) {
	y, err := youtube.Start(youtube.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := y.Close(); err != nil {
			t.Error(err)
		}
	})
	proxy, err := url.Parse(y.Proxy())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
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
