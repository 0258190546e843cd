package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

const (
	incidentID  = "0190a5d3-4b5c-7d8a-9c1d-2e3f4a5b6c7d"
	incidentURL = "/api/v1/incidents/" + incidentID
)

// incidentStreamURL is that of the stream of storedIncident, which no test registers.
const incidentStreamURL = "https://www.youtube.com/watch?v=dQw4w9WgXcI"

// storedIncident is an open incident of a stream that went black twice.
func storedIncident(id string) incidents.Incident {
	return incidents.Incident{
		Incident: incident.Incident{
			ID: id, State: incident.Open, Severity: 2, SeverityNow: 1, StartedAt: now, OpenedAt: now.Add(30 * time.Second), Quiet: time.Minute,
			Conditions: []incident.Condition{{Name: "black", StartedAt: now, LastStartedAt: now.Add(time.Minute), Count: 2, Longest: 40500 * time.Millisecond,
				Spans: []incident.Span{{StartedAt: now, EndedAt: now.Add(40500 * time.Millisecond)}, {StartedAt: now.Add(time.Minute)}},
				Alert: &incident.Alert{EventID: eventID, At: now, DurationSec: 31, ThresholdSec: 30, Criteria: map[string]float64{"luma_below_percent": 10, "area_percent": 98},
					Opinion: &incident.Opinion{Verdict: incident.OpinionLabel, AskedAt: now.Add(33 * time.Second), AnsweredAt: now.Add(34 * time.Second), Label: "end screen", Confidence: 0.9}}}},
		},
		MonitorID: noSuchID, StreamURL: incidentStreamURL, UpdatedAt: now.Add(time.Minute),
	}
}

// incidentOfAnother is the incident with number n, of a monitor of its own.
func incidentOfAnother(n int) incidents.Incident {
	i := storedIncident(fmt.Sprintf("0190a5d3-4b5c-7d8a-9c1d-00000000000%d", n))
	i.MonitorID, i.StreamURL = monitor.ID(fmt.Sprintf("mon-0190a5c8e4b07d8a9c1d%012d", n)), monitor.StreamURL(fmt.Sprint(streamURL, n))
	return i
}

func addIncident(api *testAPI, _ monitor.ID) {
	api.storeIncident(storedIncident(incidentID), incident.Entry{Kind: incident.WasOpened, At: now},
		incident.Entry{Kind: incident.SeverityRaised, At: now.Add(time.Minute), Severity: 2}, incident.Entry{Kind: incident.SecondOpinion, At: now.Add(time.Minute), Text: "end screen", Verdict: incident.OpinionLabel})
}

// incidentCases are the responses of the routes of incidents beyond those of operations.
func incidentCases() []responseCase {
	list := []responseCase{
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

func TestIncidentsAreReadInPages(t *testing.T) {
	api := newTestAPI(t)
	ids := []string{incidentID, strings.Replace(incidentID, "7d8a", "7d8b", 1), strings.Replace(incidentID, "7d8a", "7d8c", 1)}
	for _, id := range ids {
		stored := storedIncident(id)
		stored.State, stored.ResolvedAt = incident.Resolved, now // a monitor has one that is open
		api.storeIncident(stored)
	}
	got := api.pages("/api/v1/incidents?limit=2", "incidents", "incident_id", "after")
	if slices.Reverse(got); !slices.Equal(got, ids) {
		t.Errorf("the pages have, oldest first, %v", got)
	}
}

func TestIncidentsAreFiltered(t *testing.T) {
	api := newTestAPI(t)
	addIncident(api, "")
	resolved := incidentOfAnother(1)
	resolved.State, resolved.ResolvedAt = incident.Resolved, now
	api.storeIncident(resolved)
	for query, found := range map[string]int{
		"limit=2": 2, "limit=1": 1, "state=open": 1, "condition=black": 2, "condition=no_media": 0, "severity=2": 2, "severity=3": 0,
		"monitor_id=" + noSuchID: 1, "from=2024-01-15T10:56:00Z": 1, "to=2024-01-15T10:55:00Z": 0,
		"from=2024-01-15T19:55:00%2B09:00&to=2024-01-15T19:56:00%2B09:00": 2,
	} {
		if got := api.list("/api/v1/incidents?"+query, "incidents"); len(got) != found {
			t.Errorf("%s finds %d incidents, want %d", query, len(got), found)
		}
	}
}

func TestAnActionOnAnIncidentIsDoneOnce(t *testing.T) {
	api := newTestAPI(t)
	addIncident(api, "")
	actions := map[string]string{"notes": `,"text":"x"`, "acknowledge": "", "label": `,"false_positive":true`, "resolve": ""}
	answers := map[string]string{}
	for range 2 {
		for _, action := range []string{"notes", "acknowledge", "label", "resolve"} {
			a := api.post(incidentURL+"/"+action, `{"op_id":"`+action+`","by":"ann"`+actions[action]+`}`).hasStatus(http.StatusOK)
			if first, done := answers[action]; done && string(a.body) != first {
				t.Errorf("the second answer is %s, the first %s", a.body, first)
			}
			answers[action] = string(a.body)
		}
		api.db.Exec(api.t, `UPDATE clock SET at = $1`, now.Add(time.Hour))
	}
	shown := api.get(incidentURL).json()
	if shown["acknowledged_by"] != "ann" || shown["acknowledged_severity"] != 2.0 || shown["false_positive"] != true || shown["state"] != "resolved" || len(shown["log"].([]any)) != 7 {
		t.Errorf("the incident is %v", shown)
	}
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
		expect.Equal[any](t, name, c.answer.hasStatus(http.StatusOK).json()["by"], c.want)
	}
	const silence = `{"match":{},"to":"2024-01-16T00:00:00Z","by":"bob\n\u202ex"}`
	for got, want := range map[string]string{
		api.as(ann, "POST", "/api/v1/silences", silence).hasStatus(http.StatusCreated).json()["by"].(string): "ann",
		api.post("/api/v1/silences", silence).hasStatus(http.StatusCreated).json()["by"].(string):            "bob x",
	} {
		expect.Equal(t, "a silence is by", got, want)
	}
}
