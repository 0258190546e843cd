package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

func TestAConditionShowsTheNumbersOfItsAlert(t *testing.T) {
	api := newTestAPI(t)
	alert := &incident.Alert{EventID: eventID, At: now, DurationSec: 31, ThresholdSec: 30, Criteria: map[string]float64{"luma_below_percent": 10, "area_percent": 98}}
	shown := storedIncident(incidentID)
	shown.Conditions[0].Alert = alert
	api.incidents.Add(shown)
	condition := api.get(incidentURL).hasStatus(http.StatusOK).json()["conditions"].([]any)[0].(map[string]any)
	const want = "map[at:2024-01-15T19:55:00.123+09:00 criteria:map[area_percent:98 luma_below_percent:10] detail:<nil> duration_sec:31 event_id:" +
		eventID + " reason:<nil> threshold_sec:30]"
	if got := fmt.Sprint(condition["alert"]); got != want {
		t.Errorf("the alert is\n%s, want\n%s", got, want)
	}
}
