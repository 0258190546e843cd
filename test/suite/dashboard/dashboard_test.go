package dashboard_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

func TestThePartsWithoutABrowser(t *testing.T) {
	node(t, nil, "npm", "test", "--silent")
}

func TestThePagesWithAGatewayOfMemory(t *testing.T) {
	t.Parallel()
	for _, script := range scripts(t, "test/pages") {
		t.Run(filepath.Base(script), func(t *testing.T) {
			t.Parallel()
			node(t, nil, "node", "--test", script)
		})
	}
}

// TestThePagesWithTheRealGateway tells the story of a stream beside everything else, at
// gateways of their own: one of them hangs and restarts.
func TestThePagesWithTheRealGateway(t *testing.T) {
	t.Parallel()
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

// linkMessage begins the line of the log that has the link, by which the story signs in.
const linkMessage = "open the dashboard with this link"
