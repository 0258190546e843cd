//go:build cluster

package cluster_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bounds is what a gateway takes for its end at most, after the draining, in
// seconds: the bounds that are in its code, one after the other.
func bounds(t *testing.T) (sum float64) {
	t.Helper()
	for _, one := range []struct{ file, name string }{
		{"cmd/stream-monitor/gateway.go", "requestsLimit"},       // of callers
		{"adapters/runtime/kube/podclient.go", "requestTimeout"}, // a creation in progress
		{"application/supervisor/config.go", "exchangeTimeout"},  // collecting the monitors to hand over
		{"cmd/stream-monitor/gateway.go", "workersLimit"},
		{"cmd/stream-monitor/gateway.go", "releaseLimit"},
		{"cmd/stream-monitor/gateway.go", "requestsLimit"}, // of workers
	} {
		code, err := os.ReadFile(filepath.Join("..", "..", "..", one.file))
		must(t, err)
		found := regexp.MustCompile(`(?m)^\s*` + one.name + `\s*= (\d+) \* time\.Second\b`).FindSubmatch(code)
		if found == nil {
			t.Fatalf("%s has no %s in seconds", one.file, one.name)
		}
		n, err := strconv.ParseFloat(string(found[1]), 64)
		must(t, err)
		sum += n
	}
	return sum
}

func TestTheChartGivesTimeToEnd(t *testing.T) {
	for _, c := range []struct {
		set                  []string
		drain, hook, atLeast float64
	}{
		{nil, 10, 240, 240},
		{[]string{"uninstall.timeoutSeconds=30"}, 10, 0, 30},
		{[]string{"uninstall.timeoutSeconds=3600"}, 10, 3600, 3600},
		{[]string{"gateway.drainSeconds=300"}, 300, 0, 240},
	} {
		t.Run(strings.Join(c.set, ","), func(t *testing.T) {
			all := rendered(t, c.set...)
			grace, _ := all["Deployment/stream-monitor-gateway"].at("spec", "template", "spec", "terminationGracePeriodSeconds").(float64)
			if atMost := c.drain + bounds(t); grace < atMost {
				t.Errorf("a gateway that drains for %v s has %v s to end, which takes %v s at most", c.drain, grace, atMost)
			}
			hook, _ := all["Job/stream-monitor-uninstall"].at("spec", "activeDeadlineSeconds").(float64)
			if hook < max(c.atLeast, grace+60) || c.hook != 0 && hook != c.hook {
				t.Errorf("the hook has %v s, with %v s for the gateways", hook, grace)
			}
		})
	}
}
