package dashboard_test

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

func TestThePartsWithoutABrowser(t *testing.T) {
	node(t, nil, "npm", "test", "--silent")
}

// TestThePagesWithAGatewayOfMemory runs the scripts one after the other: each browser
// needs a whole core.
func TestThePagesWithAGatewayOfMemory(t *testing.T) {
	for _, script := range scripts(t, "test/pages") {
		t.Run(filepath.Base(script), func(t *testing.T) { node(t, nil, "node", "--test", script) })
	}
}

// TestThePagesWithTheRealGateway tells the story of a stream beside everything else, at
// gateways of their own: one of them hangs and restarts.
func TestThePagesWithTheRealGateway(t *testing.T) {
	all := scripts(t, "test/real")
	story, others := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !isStory(s) }), slices.DeleteFunc(all, isStory)
	for name, group := range map[string][]string{"story": story, "others": others} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startControl(t)
			for _, script := range group {
				t.Run(filepath.Base(script), func(t *testing.T) {
					node(t, []string{"GATEWAY_URL=" + c.env.Service.URL(), "API_KEY=" + system.APIKey, "CONTROL_URL=" + c.url}, "node", "--test", script)
				})
			}
		})
	}
}

func isStory(script string) bool { return filepath.Base(script) == "story.test.mjs" }

// linkMessage begins the line of the log that has the link.
const linkMessage = "open the dashboard with this link"

// TestTheLinkOfAStartWithoutConfigurationSignsIn also shows that the link is in the JSON
// log, where "docker logs" finds it.
func TestTheLinkOfAStartWithoutConfigurationSignsIn(t *testing.T) {
	service, err := system.Start(t.Context(), system.Config{
		Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"), Env: []string{"API_KEY=", "INTERNAL_API_KEY=", "WEBHOOK_SIGNING_KEY="},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := service.Stop(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	line, err := service.WaitLog(ctx, func(l system.Line) bool { return strings.HasPrefix(l.Message, linkMessage) })
	if err != nil {
		t.Fatal(err)
	}
	link, _ := line.Data["link"].(string)
	if !strings.HasPrefix(link, service.URL()+"/signin?token=") {
		t.Fatalf("the link is %q", link)
	}
	for _, status := range []int{http.StatusOK, http.StatusUnauthorized} { // the first and the second use
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Jar: jar}
		requireStatus(t, client, link, http.StatusOK)
		requireStatus(t, client, service.URL()+"/api/v1/monitors", status)
	}
}

func requireStatus(t *testing.T, client *http.Client, url string, want int) {
	t.Helper()
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != want {
		t.Errorf("%s is answered with %d, want %d", url, r.StatusCode, want)
	}
}
