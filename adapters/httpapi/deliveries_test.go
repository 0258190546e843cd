package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const deliveriesURL = "/api/v1/deliveries"

func TestDeliveriesShowWhatWasSentAndAnswered(t *testing.T) {
	api := newTestAPI(t)
	id := api.register("Q")
	api.get(deliveriesURL).hasStatus(http.StatusOK).hasBody(`{"deliveries":[],"next":null}`)
	reportEvent(api, id)
	record := &api.store.Records[id][0]
	record.Status, record.SentAt, record.Attempts = "sent", new(now), []event.Attempt{
		{At: now, Error: "no answer"},
		{At: now, Status: 200, Exchange: &event.Exchange{
			URL: "https://example.com/…", Header: map[string]string{"X-Timestamp": "1705316100"}, DurationMS: 12,
			Answer: &event.Answer{ContentType: "text/html", Body: "<b>thanks</b>", Truncated: true},
		}}}
	answer := api.get(deliveriesURL + "?state=delivered&monitor_id=" + string(id) + "&event_id=" + eventID).hasStatus(http.StatusOK)
	delivery := answer.json()["deliveries"].([]any)[0].(map[string]any)
	if body := delivery["body"].(string); !strings.HasPrefix(body, `{"event_id":"`+eventID+`"`) {
		t.Errorf("the body is %s, want the exact bytes", body)
	}
	delete(delivery, "body")
	want := `map[attempts:[` +
		`map[at:2024-01-15T19:55:00.123+09:00 error:no answer request:<nil> response:<nil> status:<nil>] ` +
		`map[at:2024-01-15T19:55:00.123+09:00 error:<nil> request:map[duration_ms:12 headers:map[X-Timestamp:1705316100] message:<nil> url:https://example.com/…] ` +
		`response:map[body:<b>thanks</b> content_type:text/html truncated:true] status:200]] ` +
		`created_at:2024-01-15T20:30:00+09:00 delivered_at:2024-01-15T19:55:00.123+09:00 delivery_id:<nil> destination:<nil> event_id:` + eventID + ` event_type:alert.blackout ` +
		`incident_id:<nil> last_error:<nil> monitor_id:` + firstID + ` next_attempt_at:<nil> sequence:<nil> state:delivered storm_id:<nil> stream_url:` + streamURL + ` tried:2]`
	if got := fmt.Sprint(delivery); got != want {
		t.Errorf("the delivery is\n%s, want\n%s", got, want)
	}
	for _, other := range []string{"state=failed", "monitor_id=" + noSuchID, "event_id=0190a5d0-1c2b-7d8a-9c1d-000000000009", "incident_id=" + eventID} {
		api.get(deliveriesURL + "?" + other).hasStatus(http.StatusOK).hasBody(`{"deliveries":[],"next":null}`)
	}
}

func TestDeliveriesHavePages(t *testing.T) {
	api := newTestAPI(t)
	id := api.register("Q")
	reportEvent(api, id)
	api.put("/internal/v1/monitors/"+string(id)+"/status", strings.ReplaceAll(completeReport, "000000000001", "000000000002")).hasStatus(http.StatusOK)
	seen, url := "", deliveriesURL+"?limit=1"
	for range 5 {
		page := api.get(url).hasStatus(http.StatusOK).json()
		for _, d := range page["deliveries"].([]any) {
			seen += d.(map[string]any)["event_id"].(string)[24:] + " "
		}
		next, more := page["next"].(string)
		if !more {
			break
		}
		url = deliveriesURL + "?limit=1&cursor=" + next
	}
	if seen != "000000000002 000000000001 " {
		t.Errorf("the pages have %q, want each event once, the newest first", seen)
	}
}

func TestWrongFiltersOfDeliveriesAreRefused(t *testing.T) {
	api := newTestAPI(t)
	for query, word := range map[string]string{
		"state=sent": "accepted are pending, delivered, failed", "state=": "state", "limit=0": "1 to 100", "limit=101": "1 to 100", "limit=x": "whole number",
		"monitor_id=1": "monitor_id", "event_id=1": "event_id", "incident_id=1": "incident_id", "cursor=x": "cursor", "cursor=": "cursor", "after=1": "accepted are monitor_id",
		"cursor=ZDEuMQ": "cursor", "event_id=urn:uuid:0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c7d": "event_id",
	} {
		api.get(deliveriesURL+"?"+query).hasError(http.StatusBadRequest, monitor.InvalidConfig, word)
	}
}
