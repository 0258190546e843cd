package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const completeReport = `{
	"generation": 1,
	"at": "2024-01-15T11:30:00.020Z",
	"sent_at": "2024-01-15T11:30:00.040Z",
	"status": "monitoring",
	"stream_status": "live",
	"health": {"video": "black", "audio": "ok", "last_check_at": "2024-01-15T11:30:00Z"},
	"statistics": {"total_segments_analyzed": 151, "blackout_events": 1, "silence_events": 1},
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
	if err := json.Unmarshal([]byte(completeReport), &report); err != nil {
		t.Fatal(err)
	}
	refused := 0
	first := newTestAPI(t)
	try := func(at string, v any) {
		api := newTestAPI(t, func(c *testConfig) { c.db = first.db })
		body, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
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

// ofFirstGeneration adds generation 1 to a report that begins with another field.
func ofFirstGeneration(report string) string {
	if !strings.HasPrefix(report, `{"`) {
		return report
	}
	return `{"generation":1,` + report[1:]
}

func TestAWorkerGetsItsAssignment(t *testing.T) {
	detectortest.Only(t, detector.Blackout, detector.Silence)
	api := newTestAPI(t)
	path := "/internal/v1/monitors/" + string(api.register("Q"))
	const config = `{"check_interval_sec":10,"blackout_threshold_sec":30,"silence_threshold_sec":30,"silence_db_threshold":-50,
		"scheduled_start_time":null,"start_delay_tolerance_sec":300}`
	t.Run("contains the registration", func(t *testing.T) {
		api.get(path + "?generation=1").hasStatus(http.StatusOK).hasBody(`{"monitor_id":"` + firstID + `","generation":1,"stream_url":"` + streamURL + `",
			"config":` + config + `,"snapshot":null}`)
	})
	t.Run("contains the last snapshot", func(t *testing.T) {
		api.put(path+"/status", completeReport).hasStatus(http.StatusOK)
		api.get(path + "?generation=1").hasStatus(http.StatusOK).hasBody(`{"monitor_id":"` + firstID + `","generation":1,"stream_url":"` + streamURL + `",
			"config":` + config + `,"snapshot":{"version":1}}`)
	})
	t.Run("is refused to an older generation, and is of no ended monitor", func(t *testing.T) {
		api.store.Update(firstID, func(m *monitor.Monitor) { m.Generation = 2 })
		api.get(path+"?generation=1").hasError(http.StatusConflict, "SUPERSEDED", "taken over")
		api.get(path + "?generation=2").hasStatus(http.StatusOK)
		api.delete("/api/v1/monitors/" + firstID).hasStatus(http.StatusOK)
		api.get(path+"?generation=2").hasError(http.StatusNotFound, monitor.NotFound, "has ended (stopped)")
	})
	for _, query := range []string{"", "generation=0", "generation=-1", "generation=x", "generation=2147483648", "gen=1"} {
		t.Run("refuses "+query, func(t *testing.T) {
			api.get(path+"?"+query).hasError(http.StatusBadRequest, monitor.InvalidConfig)
		})
	}
}

func TestAReportIsStoredAndAnsweredWithAnOrder(t *testing.T) {
	newMonitor := func(t *testing.T) (*testAPI, string) {
		api := newTestAPI(t)
		return api, "/internal/v1/monitors/" + string(api.register("Q")) + "/status"
	}
	t.Run("orders the worker that reports the end to stop", func(t *testing.T) {
		api, path := newMonitor(t)
		api.put(path, `{"generation":1,"status":"completed"}`).hasStatus(http.StatusOK).hasBody(`{"order":"stop"}`)
	})
	t.Run("ignores fields of another version", func(t *testing.T) {
		api, path := newMonitor(t)
		api.put(path, `{"generation":1,"status":"waiting","mood":"good","snapshot":null}`).hasStatus(http.StatusOK)
	})
	for name, c := range map[string]struct{ body, says string }{
		"no generation":                   {strings.Replace(completeReport, `"generation": 1,`, "", 1), "generation is 0; accepted is 1 or more"},
		"a generation of 0":               {strings.Replace(completeReport, `"generation": 1`, `"generation": 0`, 1), "generation is"},
		"an array":                        {`[]`, "not a JSON object"},
		"null":                            {`null`, "not a JSON object"},
		"a truncated body":                {`{"status":`, "not valid JSON"},
		"two reports":                     {`{}{}`, "not valid JSON"},
		"an unknown status":               {`{"status":"running"}`, "status is"},
		"a numeric status":                {`{"status":1}`, "status cannot be a JSON number"},
		"a null status":                   {`{"status":null}`, "status is null or empty"},
		"a null count":                    {`{"statistics":{"silence_events":null}}`, "statistics.silence_events is null or empty"},
		"an event without data":           {`{"events":[{"event_id":"` + eventID + `","event_type":"stream.ended","timestamp":"2024-01-15T11:30:00Z","data":null}]}`, "null"},
		"a fraction":                      {`{"statistics":{"silence_events":1.5}}`, "silence_events cannot be"},
		"an audio condition of the video": {`{"health":{"video":"silent"}}`, "health.video"},
		"an invalid time":                 {`{"at":"now"}`, "now"},
		"an event of an unknown type":     {strings.Replace(completeReport, "alert.blackout", "alert.unknown", 1), "alert.unknown"},
		"no visibility":                   {`{"visibility":null}`, "visibility is null or empty"},
		"an empty last error":             {`{"visibility":{"last_error":""}}`, "visibility.last_error is null or empty"},
		"a large snapshot":                {`{"snapshot":"` + strings.Repeat("x", 256<<10) + `"}`, "snapshot"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			api, path := newMonitor(t)
			api.put(path, ofFirstGeneration(c.body)).hasError(http.StatusBadRequest, monitor.InvalidConfig, c.says)
		})
	}
}
