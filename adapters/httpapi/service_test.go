package httpapi_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
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

func TestTheServiceShowsItsEgressAddresses(t *testing.T) { // section 17.4
	blocked := egress.Blocked
	for _, c := range []struct {
		given []egress.Status
		want  string
	}{
		{nil, `null`},
		{[]egress.Status{{Name: "proxy.example:3128", RestSec: 1740, Failures: 10, LastFailure: &blocked, Streams: 2, Questions: 9}, {Name: "direct", Budget: 60, PollIntervalSec: 45}},
			`[{"name":"proxy.example:3128","rest_sec":1740,"failures":10,"last_failure":"blocked","streams":2,"questions":9,"budget":0,"poll_interval_sec":0},` +
				`{"name":"direct","rest_sec":0,"failures":0,"last_failure":null,"streams":0,"questions":0,"budget":60,"poll_interval_sec":45}]`},
	} {
		h := newTestAPI(t)
		h.egress = c.given
		var body struct{ Egress json.RawMessage }
		if err := json.Unmarshal(h.get("/api/v1/service").hasStatus(http.StatusOK).body, &body); err != nil {
			t.Fatal(err)
		}
		if string(body.Egress) != c.want {
			t.Errorf("egress is %s, want %s", body.Egress, c.want)
		}
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
	if presets != "talk music game 24x7 ceremony " {
		t.Errorf("the presets are %s", presets)
	}
}
