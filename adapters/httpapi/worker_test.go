package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const fullReport = `{
	"generation": 1,
	"at": "2024-01-15T11:30:00.020Z",
	"status": "monitoring",
	"stream_status": "live",
	"health": {"video": "black", "audio": "ok", "last_check_at": "2024-01-15T11:30:00Z"},
	"statistics": {"total_segments_analyzed": 151, "blackout_events": 1, "silence_events": 1},
	"events": [{
		"event_id": "` + anEvent + `",
		"event_type": "alert.blackout",
		"timestamp": "2024-01-15T11:30:00Z",
		"data": {"duration_sec": 30, "started_at": "2024-01-15T11:29:30Z", "threshold_sec": 30, "segment_info": {"sequence": 12345, "duration": 5}}
	}],
	"snapshot": {"version": 1}
}`

// TestReportTakesWhatIsDescribed puts in the place of each value of a report in
// turn what could pass for no value, and asks the document whether it may.
func TestReportTakesWhatIsDescribed(t *testing.T) {
	schema := document(t).doc.Components.Schemas["Report"].Value
	var report any
	if err := json.Unmarshal([]byte(fullReport), &report); err != nil {
		t.Fatal(err)
	}
	refused := 0
	try := func(at string, v any) {
		g := open(t)
		body, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		a := g.put("/internal/v1/monitors/"+string(g.registers("Q"))+"/status", string(body))
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
		if strings.HasPrefix(at, "report.events.data.") { // which the document leaves open
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

func TestAssignment(t *testing.T) {
	g := open(t)
	path := "/internal/v1/monitors/" + string(g.registers("Q"))
	const config = `{"check_interval_sec":10,"blackout_threshold_sec":30,"silence_threshold_sec":30,"silence_db_threshold":-50,
		"scheduled_start_time":null,"start_delay_tolerance_sec":300}`
	t.Run("is what was registered", func(t *testing.T) {
		g.get(path + "?generation=1").is(http.StatusOK).equals(`{"monitor_id":"` + firstID + `","generation":1,"stream_url":"` + aStream + `",
			"config":` + config + `,"snapshot":null}`)
	})
	t.Run("has the last snapshot", func(t *testing.T) {
		g.put(path+"/status", fullReport).is(http.StatusOK)
		g.get(path).is(http.StatusOK).equals(`{"monitor_id":"` + firstID + `","generation":1,"stream_url":"` + aStream + `",
			"config":` + config + `,"snapshot":{"version":1}}`)
	})
	t.Run("is not for an older generation", func(t *testing.T) {
		g.store.Update(firstID, func(m *monitor.Monitor) { m.Generation = 2 })
		g.get(path+"?generation=1").fails(http.StatusConflict, "SUPERSEDED", "taken over")
		g.get(path + "?generation=2").is(http.StatusOK)
	})
	t.Run("does not exist for an ended monitor", func(t *testing.T) {
		g.delete("/api/v1/monitors/" + firstID).is(http.StatusOK)
		g.get(path+"?generation=2").fails(http.StatusNotFound, monitor.NotFound, "has ended (stopped)")
	})
	for _, query := range []string{"generation=0", "generation=-1", "generation=x", "generation=2147483648", "gen=1"} {
		t.Run("refuses "+query, func(t *testing.T) {
			g.get(path+"?"+query).fails(http.StatusBadRequest, monitor.InvalidConfig)
		})
	}
}

func TestReport(t *testing.T) {
	fresh := func(t *testing.T) (*gate, string) {
		g := open(t)
		return g, "/internal/v1/monitors/" + string(g.registers("Q")) + "/status"
	}
	t.Run("takes the example of the specification", func(t *testing.T) {
		g, path := fresh(t)
		g.put(path, `{
			"status": "monitoring",
			"health": {"video": "ok", "audio": "ok"},
			"statistics": {"total_segments_analyzed": 150, "blackout_events": 0, "silence_events": 1}
		}`).is(http.StatusOK).equals(`{"order":"run"}`)
		shown := g.get("/api/v1/monitors/" + firstID).json()
		if shown["status"] != "monitoring" || shown["health"].(map[string]any)["last_check_at"] != "2024-01-15T19:55:00.123+09:00" {
			t.Errorf("shown is %v", shown)
		}
	})
	t.Run("orders the worker of an ended monitor to stop", func(t *testing.T) {
		g, path := fresh(t)
		g.delete("/api/v1/monitors/" + firstID).is(http.StatusOK)
		g.put(path, fullReport).is(http.StatusOK).equals(`{"order":"stop"}`)
	})
	t.Run("orders the worker that reports the end to stop", func(t *testing.T) {
		g, path := fresh(t)
		g.put(path, `{"status":"completed"}`).is(http.StatusOK).equals(`{"order":"stop"}`)
	})
	t.Run("stores a repeated report once", func(t *testing.T) {
		g, path := fresh(t)
		g.put(path, fullReport).is(http.StatusOK)
		g.put(path, fullReport).is(http.StatusOK)
		if total := g.get("/api/v1/monitors/" + firstID + "/events").json()["pagination"].(map[string]any)["total"]; total != 1.0 {
			t.Errorf("%v events are stored", total)
		}
	})
	t.Run("ignores fields of another version", func(t *testing.T) {
		g, path := fresh(t)
		g.put(path, `{"status":"waiting","mood":"good","snapshot":null}`).is(http.StatusOK)
	})
	t.Run("of an older generation changes nothing", func(t *testing.T) {
		g, path := fresh(t)
		g.store.Update(firstID, func(m *monitor.Monitor) { m.Generation = 2 })
		g.put(path, fullReport).fails(http.StatusConflict, "SUPERSEDED")
		if shown := g.get("/api/v1/monitors/" + firstID).json(); shown["status"] != "initializing" {
			t.Errorf("status is %v", shown["status"])
		}
	})
	for name, c := range map[string]struct{ body, says string }{
		"an array":             {`[]`, "not a JSON object"},
		"null":                 {`null`, "not a JSON object"},
		"half a body":          {`{"status":`, "not valid JSON"},
		"two reports":          {`{}{}`, "not valid JSON"},
		"an unknown status":    {`{"status":"dancing"}`, "status is"},
		"a status of a number": {`{"status":1}`, "status cannot be a JSON number"},
		"a status of nothing":  {`{"status":null}`, "status is null or empty"},
		"a count of nothing":   {`{"statistics":{"silence_events":null}}`, "statistics.silence_events is null or empty"},
		"an event of nothing":  {`{"events":[{"event_id":"` + anEvent + `","event_type":"stream.ended","timestamp":"2024-01-15T11:30:00Z","data":null}]}`, "null"},
		"a fraction":           {`{"statistics":{"silence_events":1.5}}`, "silence_events cannot be"},
		"sound on the picture": {`{"health":{"video":"silent"}}`, "health.video"},
		"no time":              {`{"at":"now"}`, "now"},
		"a time too late":      {`{"at":"9999-12-31T23:59:59-12:00"}`, "at is in the year 10000"},
		"a check too late":     {`{"health":{"last_check_at":"9999-12-31T23:59:59-12:00"}}`, "health.last_check_at is in the year 10000"},
		"an event too late":    {strings.Replace(fullReport, `"timestamp": "2024`, `"timestamp": "9999`, 1), "events[0].timestamp is in the year 9999"},
		"an event unheard of":  {strings.Replace(fullReport, "alert.blackout", "alert.party", 1), "alert.party"},
		"an event of no id":    {strings.Replace(fullReport, anEvent, "1", 1), "events[0].event_id"},
		"a large snapshot":     {`{"snapshot":"` + strings.Repeat("x", 256<<10) + `"}`, "snapshot"},
		"a thousand and one events": {`{"events":[` + strings.Repeat(`{"event_type":"stream.ended","timestamp":"2024-01-15T11:30:00Z","data":{}},`, 1000) +
			`{"event_type":"stream.ended","timestamp":"2024-01-15T11:30:00Z","data":{}}]}`, "1001 entries"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			g, path := fresh(t)
			g.put(path, c.body).fails(http.StatusBadRequest, monitor.InvalidConfig, c.says)
		})
	}
}
