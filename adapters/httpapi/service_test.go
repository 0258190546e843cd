package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
)

// testInfo is the description of the gateway of tests.
func testInfo() *httpapi.ServiceInfo {
	return &httpapi.ServiceInfo{
		Version: "1.2.3", WorkerRuntime: "process", Limits: httpapi.ServiceLimits{MaxMonitors: 3, CreatePerMin: 10, QueryPerMin: 100, ScheduleLeadSec: 600},
		Retention: httpapi.ServiceRetention{EventsSec: 1, HistorySec: 2, FeedSec: 3, EvidenceSec: 4, EvidenceQuarantineSec: 5},
	}
}

func TestTheServiceCountsRefusedKeys(t *testing.T) { // section 17.4
	api := newTestAPI(t)
	for _, path := range []string{"/api/v1/monitors", "/internal/v1/monitors/" + noSuchID, "/api/v1/session"} {
		api.do(newRequestWithoutKey(path)).hasStatus(http.StatusUnauthorized)
	}
	if got := api.get("/api/v1/service").json()["unauthorized"]; got != 3.0 {
		t.Errorf("%v requests are counted, want 3", got)
	}
}
