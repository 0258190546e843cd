package httpapi_test

import (
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

func TestAListGoesOnAfterAPage(t *testing.T) { // section 16.6
	api := newTestAPI(t)
	ids := []monitor.ID{api.register("A"), api.register("B"), api.register("C")}
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
	next := api.get("/api/v1/monitors?limit=1").json()["next"].(string)
	for query, word := range map[string]string{
		"after=" + next + "&offset=1":   "offset is not accepted with after",
		"after=x":                       `after is "x"`,
		"after=aTEuMQ":                  "the next of an earlier page", // a cursor of incidents
		"trouble=yes":                   `trouble is "yes"; accepted are true and false`,
		"q=" + strings.Repeat("x", 201): "at most 200 bytes",
		"q=%00":                         "without NUL",
		"live=true&colour=red":          `"colour" is not a parameter`,
	} {
		api.get("/api/v1/monitors?"+query).hasError(http.StatusBadRequest, monitor.InvalidConfig, word)
	}
}
