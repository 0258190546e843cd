package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAListShowsWhatAnOperatorAsks(t *testing.T) { // section 16.6
	api := newTestAPI(t)
	id := api.register("Q")
	quiet := api.register("A")
	start := now.Add(time.Hour)
	api.store.Update(id, func(m *monitor.Monitor) {
		m.Status, m.Reason, m.StreamStatus = monitor.Failed, "worker_lost", monitor.StreamLive
		m.Health = monitor.Health{Video: monitor.Black, Audio: monitor.OK, LastCheckAt: now}
		m.Visibility = monitor.Visibility{LastError: "no answer", BlindSince: now}
		m.Config.ScheduledStartTime, m.Metadata = &start, []byte(`{"name":"one"}`)
		m.RecordParkedSince = now
	})
	const incidentID = "0190a5d0-1c2b-7d8a-9c1d-000000000001"
	api.store.Incidents = map[monitor.ID]*incident.Incident{id: {ID: incidentID, State: incident.Open, Severity: 2, SeverityNow: 1, OpenedAt: now,
		Conditions: []incident.Condition{{Name: "black", StartedAt: now, LastStartedAt: now, Count: 1, Spans: []incident.Span{{StartedAt: now}}}}}}
	api.get("/api/v1/monitors?trouble=true&blind=true").hasStatus(http.StatusOK).hasBody(`{
		"monitors": [{
			"monitor_id": "` + string(id) + `", "number": 1, "stream_url": "` + streamURL + `", "status": "error", "reason": "worker_lost", "created_at": "2024-01-15T19:55:00.123+09:00",
			"stream_status": "live", "health": {"video": "black", "audio": "ok", "last_check_at": "2024-01-15T19:55:00.123+09:00"},
			"last_error": "no answer", "blind_since": "2024-01-15T19:55:00.123+09:00", "record_parked_since": "2024-01-15T19:55:00.123+09:00", "scheduled_start_time": "2024-01-15T20:55:00.123+09:00",
			"metadata": {"name": "one"}, "revision": 0,
			"incident": {"incident_id": "` + incidentID + `", "severity": 2, "severity_now": 1, "opened_at": "2024-01-15T19:55:00.123+09:00", "conditions": [
				{"name": "black", "started_at": "2024-01-15T19:55:00.123+09:00", "last_started_at": "2024-01-15T19:55:00.123+09:00", "ended_at": null, "count": 1, "longest_sec": 0, "spans": [{"started_at": "2024-01-15T19:55:00.123+09:00", "ended_at": null}], "alert": null}]}
		}],
		"pagination": {"total": 1, "limit": 50, "offset": 0}, "next": null}`)
	all := api.get("/api/v1/monitors?q=YOUTUBE").json()["monitors"].([]any)
	first := all[0].(map[string]any)
	if len(all) != 2 || first["monitor_id"] != string(quiet) || first["incident"] != nil || first["last_error"] != nil || first["scheduled_start_time"] != nil {
		t.Errorf("listed are %v", all)
	}
	if all := api.get("/api/v1/monitors?trouble=false&q=" + url.QueryEscape(`"two"`)).json()["monitors"].([]any); len(all) != 0 {
		t.Errorf("listed are %v", all)
	}
}

func TestMonitorsAreListedInPages(t *testing.T) { // section 3.4
	api := newTestAPI(t)
	api.get("/api/v1/monitors").hasStatus(http.StatusOK).hasBody(`{"monitors":[],"pagination":{"total":0,"limit":50,"offset":0},"next":null}`)
	ids := []monitor.ID{api.register("A"), api.register("B"), api.register("C")}
	api.get("/api/v1/monitors?limit=1&offset=1").hasStatus(http.StatusOK).hasBody(`{"monitors":[{"monitor_id":"` + string(ids[1]) + `","number":2,
		"stream_url":"https://www.youtube.com/watch?v=dQw4w9WgXcB","status":"initializing","created_at":"2024-01-15T19:55:00.123+09:00",
		"stream_status":"unknown","health":{"video":"unknown","audio":"unknown","last_check_at":null},"last_error":null,"blind_since":null,
		"scheduled_start_time":null,"metadata":{},"revision":0,"incident":null}],
		"pagination":{"total":3,"limit":1,"offset":1},"next":"bTEuMg"}`)
	api.get("/api/v1/monitors?offset=9").hasStatus(http.StatusOK).hasBody(`{"monitors":[],"pagination":{"total":3,"limit":50,"offset":9},"next":null}`)
	var got []string
	for path := "/api/v1/monitors?limit=2"; path != ""; {
		body := api.get(path).hasStatus(http.StatusOK).json()
		for _, m := range body["monitors"].([]any) {
			got = append(got, m.(map[string]any)["monitor_id"].(string))
		}
		path = ""
		if next, more := body["next"].(string); more {
			path = "/api/v1/monitors?limit=2&after=" + next
		}
	}
	if want := []string{string(ids[2]), string(ids[1]), string(ids[0])}; strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the pages are %v, want %v", got, want)
	}
}

func TestEveryListTakesTheSpecifiedQueryParameters(t *testing.T) { // sections 3.4 and 16.6, decision A7
	api := newTestAPI(t)
	events := "/api/v1/monitors/" + string(api.register("Q")) + "/events"
	both := []string{"/api/v1/monitors", events}
	next := "bTEuMg"
	for _, c := range []struct {
		lists []string
		query string
		says  string // empty: it is accepted
	}{
		{both, "limit=1&offset=0", ""},
		{both, "limit=200&offset=2147483647", ""},
		{both, "limit=0", "accepted is 1 to 200"},
		{both, "limit=201", "accepted is 1 to 200"},
		{both, "limit=1.5", "whole number"},
		{both, "limit=", "whole number"},
		{both, "limit=99999999999999999999", "whole number"},
		{both, "limit=%zz", "malformed"},
		{both, "offset=-1", "accepted is 0 to"},
		{both, "offset=2147483648", "accepted is 0 to"},
		{both, "offset=one", "whole number"},
		{both[1:], "status=sent", "accepted are limit, offset"},
		{both[:1], "status=error", ""},
		{both[:1], "status=running", "accepted is one of"},
		{both[:1], "status=", "accepted is one of"},
		{both[:1], "status=error&status=error", "given twice"},
		{both[:1], "state=error", "accepted are status, trouble, blind, live, q, after, limit, offset"},
		{both[:1], "after=" + next, ""},
		{both[:1], "after=" + next + "&offset=1", "offset is not accepted with after"},
		{both[:1], "after=x", `after is "x"`},
		{both[:1], "after=aTEuMQ", "the next of an earlier page"}, // a cursor of incidents
		{both[:1], "trouble=yes", `trouble is "yes"; accepted are true and false`},
		{both[:1], "q=" + strings.Repeat("x", 201), "at most 200 bytes"},
		{both[:1], "q=%00", "without NUL"},
	} {
		for _, list := range c.lists {
			t.Run(list+"?"+c.query, func(t *testing.T) {
				a := api.get(list + "?" + c.query)
				if c.says != "" {
					a.hasError(http.StatusBadRequest, monitor.InvalidConfig, c.says)
					return
				}
				shown := a.hasStatus(http.StatusOK).json()["pagination"].(map[string]any)
				for name, value := range map[string]any{"limit": shown["limit"], "offset": shown["offset"]} {
					if text := fmt.Sprintf("%s=%.0f", name, value); strings.Contains(c.query, name) && !strings.Contains(c.query, text) {
						t.Errorf("shown is %s", text)
					}
				}
			})
		}
	}
}
