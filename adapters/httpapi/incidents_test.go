package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	incidentID  = "0190a5d3-4b5c-7d8a-9c1d-2e3f4a5b6c7d"
	incidentURL = "/api/v1/incidents/" + incidentID
)

// storedIncident is an open incident of a stream that went black twice.
func storedIncident(id string) incidents.Incident {
	return incidents.Incident{
		Incident: incident.Incident{
			ID: id, State: incident.Open, Severity: 2, SeverityNow: 1, StartedAt: now, OpenedAt: now.Add(30 * time.Second), Quiet: time.Minute,
			Conditions: []incident.Condition{{Name: "black", StartedAt: now, LastStartedAt: now.Add(time.Minute), Count: 2, Longest: 40500 * time.Millisecond,
				Spans: []incident.Span{{StartedAt: now, EndedAt: now.Add(40500 * time.Millisecond)}, {StartedAt: now.Add(time.Minute)}},
				Alert: &incident.Alert{EventID: eventID, At: now, DurationSec: 31, ThresholdSec: 30, Criteria: map[string]float64{"luma_below_percent": 10, "area_percent": 98}}}},
		},
		MonitorID: noSuchID, StreamURL: streamURL, UpdatedAt: now.Add(time.Minute),
	}
}

// incidentOfAnother is the incident with number n, of a monitor of its own.
func incidentOfAnother(n int) incidents.Incident {
	i := storedIncident(fmt.Sprintf("0190a5d3-4b5c-7d8a-9c1d-00000000000%d", n))
	i.MonitorID, i.StreamURL = monitor.ID(fmt.Sprintf("mon-%032d", n)), monitor.StreamURL(fmt.Sprint(streamURL, n))
	return i
}

func addIncident(api *testAPI, _ monitor.ID) {
	api.storeIncident(storedIncident(incidentID), incident.Entry{Kind: incident.WasOpened, At: now},
		incident.Entry{Kind: incident.SeverityRaised, At: now.Add(time.Minute), Severity: 2})
}

// incidentCases are the responses of the routes of incidents beyond those of operations.
func incidentCases() []responseCase {
	list := []responseCase{
		{"incidents by a bad filter", 400, request("GET", "/api/v1/incidents?severity=4", "")},
		{"no incident", 404, request("GET", incidentURL, "")},
	}
	for path, body := range map[string]string{
		"/acknowledge": `{"op_id":"1","by":"ann"}`,
		"/resolve":     `{"op_id":"1","by":"ann"}`,
		"/notes":       `{"op_id":"1","by":"ann","text":"x"}`,
		"/label":       `{"op_id":"1","by":"ann","false_positive":true}`,
	} {
		done := func(api *testAPI) {
			addIncident(api, "")
			api.post(incidentURL+path, body).hasStatus(http.StatusOK)
		}
		list = append(list,
			responseCase{path + " of no incident", 404, request("POST", incidentURL+path, body)},
			responseCase{path + " with the op_id of another action", 409, after(done, request("POST", incidentURL+path, strings.Replace(body, "ann", "bob", 1)))})
	}
	return list
}

func TestAnIncidentIsShownWithItsLog(t *testing.T) {
	api := newTestAPI(t)
	addIncident(api, "")
	shown := `"incident_id": "` + incidentID + `", "monitor_id": "` + noSuchID + `", "stream_url": "` + streamURL + `", "state": "open", "severity": 2, "severity_now": 1,
		"conditions": [{"name": "black", "started_at": "2024-01-15T19:55:00.123+09:00", "last_started_at": "2024-01-15T19:56:00.123+09:00", "ended_at": null, "count": 2, "longest_sec": 40,
			"spans": [{"started_at": "2024-01-15T19:55:00.123+09:00", "ended_at": "2024-01-15T19:55:40.623+09:00"}, {"started_at": "2024-01-15T19:56:00.123+09:00", "ended_at": null}],
			"alert": {"event_id": "` + eventID + `", "at": "2024-01-15T19:55:00.123+09:00", "duration_sec": 31, "threshold_sec": 30, "criteria": {"area_percent": 98, "luma_below_percent": 10}, "reason": null, "detail": null}}],
		"started_at": "2024-01-15T19:55:00.123+09:00", "opened_at": "2024-01-15T19:55:30.123+09:00", "resolved_at": null, "resolved_by": null, "quiet_sec": 60, "reopened": 0,
		"acknowledged_by": null, "acknowledged_at": null, "acknowledged_severity": null, "acknowledgements": [], "false_positive": null, "picture": null, "updated_at": "2024-01-15T19:56:00.123+09:00"`
	api.get("/api/v1/incidents").hasStatus(http.StatusOK).hasBody(`{"incidents": [{` + shown + `}], "next": null}`)
	api.get(incidentURL).hasStatus(http.StatusOK).hasBody(`{` + shown + `,
		"log": [{"kind": "opened", "at": "2024-01-15T19:55:00.123+09:00", "by": null, "text": null, "false_positive": null, "severity": null},
		        {"kind": "severity_raised", "at": "2024-01-15T19:56:00.123+09:00", "by": null, "text": null, "false_positive": null, "severity": 2}]}`)
}

func TestIncidentsAreReadInPages(t *testing.T) {
	api := newTestAPI(t)
	ids := []string{incidentID, strings.Replace(incidentID, "7d8a", "7d8b", 1), strings.Replace(incidentID, "7d8a", "7d8c", 1)}
	for _, id := range ids {
		stored := storedIncident(id)
		stored.State, stored.ResolvedAt = incident.Resolved, now // a monitor has one that is open
		api.storeIncident(stored)
	}
	var got []string
	path, pages := "/api/v1/incidents?limit=2", 0
	for after := ""; ; pages++ {
		page := api.get(path + after).hasStatus(http.StatusOK).json()
		for _, i := range page["incidents"].([]any) {
			got = append([]string{i.(map[string]any)["incident_id"].(string)}, got...)
		}
		if page["next"] == nil || len(got) > len(ids) {
			break
		}
		after = "&after=" + url.QueryEscape(page["next"].(string))
	}
	if strings.Join(got, " ") != strings.Join(ids, " ") || pages != 1 {
		t.Errorf("%d pages have, oldest first, %v", pages+1, got)
	}
}

func TestTheFiltersOfIncidentsReachTheStore(t *testing.T) {
	api := newTestAPI(t)
	asked := &askedIncidents{Store: api.incidents.Store}
	api.incidents.Store = asked
	api.get("/api/v1/incidents?state=open&condition=no_media&severity=2&monitor_id=" + noSuchID + "&from=2024-01-15T11:00:00Z&to=2024-01-15T21:00:00%2B09:00&limit=7").hasStatus(http.StatusOK)
	from := time.Date(2024, 1, 15, 11, 0, 0, 0, time.UTC)
	want := incidents.Filter{State: incident.Open, Condition: incident.NoMedia, MinSeverity: 2, MonitorID: noSuchID, From: from, To: from.Add(time.Hour), Limit: 8}
	if asked.filter != want {
		t.Errorf("asked for %+v, want %+v", asked.filter, want)
	}
}

// requireNamedOnce fails the test unless a refusal names every field exactly once.
func requireNamedOnce(t *testing.T, refusal response, names ...string) {
	t.Helper()
	refusal.hasError(http.StatusBadRequest, monitor.InvalidConfig)
	for _, name := range names {
		if strings.Count(string(refusal.body), name) != 1 {
			t.Errorf("%q is not named once: %s", name, refusal.body)
		}
	}
}

func TestEveryWrongFilterOfIncidentsIsNamedAtOnce(t *testing.T) {
	query := "?state=closed&condition=overcast&severity=x&monitor_id=1&from=yesterday&to=2024-01-15T20:00:00&after=%2B&limit=0"
	requireNamedOnce(t, newTestAPI(t).get("/api/v1/incidents"+query), "state is", "condition is", "severity is", "monitor_id is", "from is", "to is", "after is", "limit is")
	for _, query := range []string{"?severity=-1", "?severity=4", "?limit=201", "?after=aTEu", "?after=aTEuMA", "?state=", "?sate=open",
		"?from=2024-01-15T20:00:00Z&to=2024-01-15T20:00:00Z", "?from=1999-01-01T00:00:00Z"} {
		newTestAPI(t).get("/api/v1/incidents"+query).hasError(http.StatusBadRequest, monitor.InvalidConfig)
	}
}

func TestAnActionOnAnIncidentIsDoneOnce(t *testing.T) {
	api := newTestAPI(t)
	addIncident(api, "")
	const note = `{"op_id":"1","by":"ann","text":"the encoder hangs"}`
	first := api.post(incidentURL+"/notes", note).hasStatus(http.StatusOK)
	first.hasBody(`{"incident_id": "` + incidentID + `", "op_id": "1", "kind": "note", "at": "2024-01-15T19:55:00.123+09:00", "by": "ann", "text": "the encoder hangs", "false_positive": null}`)
	api.db.Exec(api.t, `UPDATE clock SET at = $1`, now.Add(time.Hour))
	if again := api.post(incidentURL+"/notes", note).hasStatus(http.StatusOK); string(again.body) != string(first.body) {
		t.Errorf("the second answer is %s, the first %s", again.body, first.body)
	}
	api.post(incidentURL+"/acknowledge", `{"op_id":"2","by":"ann"}`).hasStatus(http.StatusOK)
	api.post(incidentURL+"/label", `{"op_id":"3","by":"ann","false_positive":true}`).hasStatus(http.StatusOK)
	shown := api.get(incidentURL).json()
	if shown["acknowledged_by"] != "ann" || shown["acknowledged_severity"] != 3.0 || shown["false_positive"] != true || len(shown["log"].([]any)) != 6 {
		t.Errorf("the incident is %v", shown)
	}
	api.post(incidentURL+"/label", `{"op_id":"2","by":"ann","false_positive":true}`).hasError(http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
}

// Section 12.4: with a key of their own nobody acts in another name, and no name looks like another.
func TestWhoActsIsNamedByTheirKey(t *testing.T) {
	const line = `{"op_id":"%s","by":"bob\nroot\u202egpj","text":"x"}`
	api := newTestAPI(t)
	addIncident(api, "")
	ann := api.createKey("ann", "operate")
	cookie := api.signInWith(ann, "").hasStatus(http.StatusNoContent).cookie()
	signedIn := newRequest("POST", incidentURL+"/notes", strings.NewReader(fmt.Sprintf(line, "2")))
	signedIn.Header.Del(publicKeyHeader)
	signedIn.AddCookie(cookie)
	for name, c := range map[string]struct {
		answer response
		want   string
	}{
		"a personal key":   {api.as(ann, "POST", incidentURL+"/notes", fmt.Sprintf(line, "1")), "ann"},
		"without a name":   {api.as(ann, "POST", incidentURL+"/acknowledge", `{"op_id":"4"}`), "ann"},
		"a session of it":  {api.do(signedIn), "ann"},
		"API_KEY, cleaned": {api.post(incidentURL+"/notes", fmt.Sprintf(line, "3")), "bob rootgpj"},
	} {
		if got := c.answer.hasStatus(http.StatusOK).json()["by"]; got != c.want {
			t.Errorf("%s: by is %q, want %q", name, got, c.want)
		}
	}
	const silence = `{"match":{},"to":"2024-01-16T00:00:00Z","by":"bob\n\u202ex"}`
	for got, want := range map[string]string{
		api.as(ann, "POST", "/api/v1/silences", silence).hasStatus(http.StatusCreated).json()["by"].(string): "ann",
		api.post("/api/v1/silences", silence).hasStatus(http.StatusCreated).json()["by"].(string):            "bob x",
	} {
		if got != want {
			t.Errorf("a silence is by %q, want %q", got, want)
		}
	}
}

func TestAnIncidentIsResolvedOnRequest(t *testing.T) {
	api := newTestAPI(t)
	addIncident(api, "")
	api.db.Exec(api.t, `UPDATE clock SET at = $1`, now.Add(time.Hour))
	const body = `{"op_id":"1","by":"ann"}`
	first := api.post(incidentURL+"/resolve", body).hasStatus(http.StatusOK)
	if again := api.post(incidentURL+"/resolve", body); string(again.body) != string(first.body) {
		t.Errorf("the second answer is %s, the first %s", again.body, first.body)
	}
	shown := api.get(incidentURL).json()
	if shown["state"] != "resolved" || shown["resolved_at"] != "2024-01-15T20:55:00.123+09:00" {
		t.Errorf("the incident is %v", shown)
	}
}

func TestEveryWrongFieldOfAnActionIsNamedAtOnce(t *testing.T) {
	api := newTestAPI(t)
	addIncident(api, "")
	for body, names := range map[string][]string{
		`{}`:                            {"op_id is", "by has", "text has"},
		`{"op_id":1,"by":[],"text":{}}`: {"op_id is", "by is", "text is"},
		`{"op_id":"a b","by":" ","text":"\u0000"}`:                                                         {"op_id is", "by has", "text has control"},
		`{"op_id":"1","by":"` + strings.Repeat("é", 101) + `","text":"x","x":1}`:                           {"by has 101", `\"x\" is not a field`},
		`{"op_id":"` + strings.Repeat("a", 101) + `","by":"a","text":"` + strings.Repeat("a", 2001) + `"}`: {"op_id is", "text has 2001"},
	} {
		requireNamedOnce(t, api.post(incidentURL+"/notes", body), names...)
	}
	for _, value := range []string{``, `,"false_positive":1`, `,"false_positive":"true"`} {
		api.post(incidentURL+"/label", `{"op_id":"1","by":"ann"`+value+`}`).hasError(http.StatusBadRequest, monitor.InvalidConfig)
	}
	api.post("/api/v1/incidents/1/acknowledge", `{"op_id":"1","by":"ann"}`).hasError(http.StatusNotFound, incident.NotFound)
}
