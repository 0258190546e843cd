package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// testInfo is the description of the gateway of tests.
func testInfo() *httpapi.ServiceInfo {
	return &httpapi.ServiceInfo{
		Version: "1.2.3", WorkerRuntime: "process", Limits: httpapi.ServiceLimits{MaxMonitors: 3, CreatePerMin: 10, QueryPerMin: 100, ScheduleLeadSec: 600},
		Retention: httpapi.ServiceRetention{EventsSec: 1, HistorySec: 2, FeedSec: 3, EvidenceSec: 4, EvidenceQuarantineSec: 5},
	}
}

func TestTheServiceDescribesItself(t *testing.T) {
	body := newTestAPI(t).get("/api/v1/service").hasStatus(http.StatusOK).json()
	limits := body["limits"].(map[string]any)
	if body["version"] != "1.2.3" || body["timezone"] != "JST" || limits["max_monitors"] != 3.0 || limits["max_batch"] != 100.0 {
		t.Errorf("the service is %v", body)
	}
	if settings := body["settings"].([]any); len(settings) != len(monitor.Settings()) {
		t.Errorf("%d settings are described", len(settings))
	}
	presets := ""
	for _, p := range body["presets"].([]any) {
		presets += p.(map[string]any)["name"].(string) + " "
	}
	if presets != "talk music game 24x7 " {
		t.Errorf("the presets are %s", presets)
	}
}
