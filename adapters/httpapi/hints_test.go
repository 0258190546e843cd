package httpapi_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/hint"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The document validates every answer.
func TestHintsAreAnsweredWithMonitorsAndIncidentsAndToldByTheirRoute(t *testing.T) { // section 16.7
	api := newTestAPI(t)
	api.storeIncident(storedIncident(incidentID))
	without := api.get(incidentURL).body
	api.post("/api/v1/destinations", newDestination).hasStatus(http.StatusCreated)
	api.post("/api/v1/routes", `{"name":"hints","match":{"hints":["recurring"],"min_severity":1}}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "match.hints")
	api.post("/api/v1/silences", `{"match":{"hints":["recurring"]},"to":"2034-01-15T21:00:00+09:00","by":"ann"}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "match.hints")
	api.post("/api/v1/routes", `{"name":"hints","match":{"hints":["recurring"]},"destinations":["`+storedDestination+`"]}`).hasStatus(http.StatusCreated)
	begun := []hint.MonitorHint{
		{MonitorID: noSuchID, Hint: monitor.Hint{Kind: monitor.Recurring, Condition: "black", Since: now, Numbers: map[string]float64{"times": 3, "within_sec": 3600}}},
		{MonitorID: noSuchID, Hint: monitor.Hint{Kind: monitor.Quieter, Since: now.Add(-time.Minute), Numbers: map[string]float64{"minutes": 5}}},
	}
	if err := api.db.ChangeHints(t.Context(), hint.Changes{Begun: begun}); err != nil {
		t.Fatal(err)
	}
	const want = `"hints":[{"kind":"quieter","since":"2024-01-15T19:54:00.123+09:00","numbers":{"minutes":5}},` +
		`{"kind":"recurring","condition":"black","since":"2024-01-15T19:55:00.123+09:00","numbers":{"times":3,"within_sec":3600}}]`
	for _, path := range []string{"/api/v1/monitors", "/api/v1/monitors/" + noSuchID, incidentURL} {
		if body := api.get(path).hasStatus(http.StatusOK).body; !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s answers %s", path, body)
		}
	}
	leased, err := api.db.Lease(t.Context(), 10, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var told []delivery.Delivery
	for _, d := range leased.Deliveries {
		if d.Notice != nil {
			told = append(told, d)
		}
	}
	if len(told) != 1 || told[0].Notice.Hint.Kind != monitor.Recurring {
		t.Errorf("told is %+v", told)
	}
	if bytes.Contains(without, []byte("hints")) {
		t.Errorf("without hints the incident is %s", without)
	}
}
