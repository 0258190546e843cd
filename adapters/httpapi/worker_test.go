package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const eventID = "0190a5d0-1c2b-7d8a-9c1d-000000000001"

const completeReport = `{
	"generation": 1,
	"at": "2024-01-15T11:30:00.020Z",
	"sent_at": "2024-01-15T11:30:00.040Z",
	"status": "monitoring",
	"stream_status": "live",
	"health": {"video": "black", "audio": "ok", "last_check_at": "2024-01-15T11:30:00Z"},
	"statistics": {"total_segments_analyzed": 151, "blackout_events": 1, "silence_events": 1},
	"visibility": {"last_error": "DNS does not resolve\u0000\nwww.youtube.com", "blind_since": "2024-01-15T11:20:00Z", "last_observed_at": "2024-01-15T11:19:30Z"},
	"events": [{
		"event_id": "` + eventID + `",
		"event_type": "alert.blackout",
		"timestamp": "2024-01-15T11:30:00Z",
		"data": {"duration_sec": 30, "started_at": "2024-01-15T11:29:30Z", "threshold_sec": 30, "segment_info": {"sequence": 12345, "duration": 5}}
	}],
	"snapshot": {"version": 1}
}`

// TestAReportIsAcceptedExactlyAsDescribed replaces each value of a report in turn by an
// empty one, and compares the response with the schema of the document.
func TestAReportIsAcceptedExactlyAsDescribed(t *testing.T) {
	schema := document(t).doc.Components.Schemas["Report"].Value
	var report any
	must.Do(t, json.Unmarshal([]byte(completeReport), &report))
	refused := 0
	first := newTestAPI(t)
	try := func(at string, v any) {
		api := newTestAPI(t, func(c *testConfig) { c.db, c.createPerMin = first.db, 0 })
		body := must.Get(json.Marshal(report))(t)
		a := api.put("/internal/v1/monitors/"+string(api.register("Q"))+"/status", string(body))
		described := schema.VisitJSON(report, openapi3.EnableFormatValidation())
		if (a.status == http.StatusOK) != (described == nil) {
			t.Errorf("%s %#v: answered with %d %s; the document says %v", at, v, a.status, a.body, described)
		}
		if a.status != http.StatusOK {
			refused++
		}
	}
	var visit func(at string, v any, set func(any))
	visit = func(at string, v any, set func(any)) {
		if strings.HasPrefix(at, "report.events.data.") { // the schema leaves it open
			return
		}
		for _, empty := range []any{nil, "", 0.0, "0001-01-01T00:00:00Z", map[string]any{}, []any{}} {
			set(empty)
			try(at, empty)
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				visit(at+"."+name, value, func(other any) { v[name] = other })
			}
		case []any:
			for i, value := range v {
				visit(at, value, func(other any) { v[i] = other })
			}
		}
	}
	visit("report", report, func(other any) { report = other })
	if refused < 18 {
		t.Errorf("only %d reports were refused", refused)
	}
}

func TestAReportIsAnsweredWithAnOrder(t *testing.T) {
	api := newTestAPI(t)
	path := "/internal/v1/monitors/" + string(api.register("Q")) + "/status"
	api.put(path, `{"generation":1,"status":"waiting","mood":"good","snapshot":null}`).hasStatus(http.StatusOK) // fields of another version
	api.put(path, `{"generation":1,"status":"completed"}`).hasStatus(http.StatusOK).hasBody(`{"order":"stop"}`)
}

func TestATokenSpeaksForOneMonitorAndGeneration(t *testing.T) { // decision O9; each request of a worker is in responseCases
	tokens := monitor.NewTokenKey(internalAPIKey)
	const path, otherID = "/internal/v1/monitors/" + firstID + "/status", monitor.ID("mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7e")
	for name, c := range map[string]struct {
		token  string
		status int
		code   monitor.Code
		says   string
	}{
		"API_KEY":                         {apiKey, http.StatusUnauthorized, monitor.Unauthorized, "missing or wrong"},
		"INTERNAL_API_KEY":                {internalAPIKey, http.StatusUnauthorized, monitor.Unauthorized, "missing or wrong"},
		"a token of API_KEY":              {monitor.NewTokenKey(apiKey).Token(firstID, 1), http.StatusUnauthorized, monitor.Unauthorized, "missing or wrong"},
		"the token of another monitor":    {tokens.Token(otherID, 1), http.StatusForbidden, "FORBIDDEN", "of another monitor"},
		"the token of another generation": {tokens.Token(firstID, 2), http.StatusForbidden, "FORBIDDEN", "is of generation 2, the request of generation 1"},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTestAPI(t)
			api.register("Q")
			r := newRequest("PUT", path, strings.NewReader(completeReport))
			r.Header.Set(internalKeyHeader, c.token)
			api.do(r).hasError(c.status, c.code, c.says)
		})
	}
}
