package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const deliveriesURL = "/api/v1/deliveries"

func TestDeliveriesAreFiltered(t *testing.T) {
	api := newTestAPI(t)
	id := api.register("Q")
	sendEvent(api, id)
	for query, found := range map[string]int{
		"state=delivered&monitor_id=" + string(id) + "&event_id=" + eventID: 1, "state=failed": 0, "monitor_id=" + noSuchID: 0,
		"event_id=0190a5d0-1c2b-7d8a-9c1d-000000000009": 0, "incident_id=" + eventID: 0,
	} {
		if got := api.pages(deliveriesURL+"?"+query, "deliveries", "event_id", "cursor"); len(got) != found {
			t.Errorf("%s finds %q", query, got)
		}
	}
}

func TestDeliveriesHavePages(t *testing.T) {
	api := newTestAPI(t)
	id := api.register("Q")
	reportEvent(api, id)
	api.put("/internal/v1/monitors/"+string(id)+"/status", strings.ReplaceAll(completeReport, "000000000001", "000000000002")).hasStatus(http.StatusOK)
	got := api.pages(deliveriesURL+"?limit=1", "deliveries", "event_id", "cursor")
	if want := []string{strings.Replace(eventID, "000000000001", "000000000002", 1), eventID}; !slices.Equal(got, want) {
		t.Errorf("the pages have %q, want each event once, the newest first", got)
	}
}
