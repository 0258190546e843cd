package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const eventID = "0190a5d0-1c2b-7d8a-9c1d-000000000001"

func TestEventsAreListedWithTheirDeliveryAttempts(t *testing.T) {
	api := newTestAPI(t)
	id := api.register("Q")
	path := "/api/v1/monitors/" + string(id) + "/events"
	t.Run("the list is empty at first", func(t *testing.T) {
		api.get(path).hasStatus(http.StatusOK).hasBody(`{"events":[],"pagination":{"total":0,"limit":50,"offset":0}}`)
	})
	reportEvent(api, id)
	const payload = `{"event_id":"` + eventID + `","event_type":"alert.blackout","monitor_id":"` + firstID + `","stream_url":"` + streamURL + `",
		"timestamp":"2024-01-15T11:30:00Z","data":{"duration_sec":30,"started_at":"2024-01-15T11:29:30Z","threshold_sec":30,
		"segment_info":{"sequence":12345,"duration":5}},"metadata":{}}`
	t.Run("a new event is pending", func(t *testing.T) {
		api.get(path).hasStatus(http.StatusOK).hasBody(`{"events":[{"event_id":"` + eventID + `","event_type":"alert.blackout",
			"created_at":"2024-01-15T20:30:00+09:00","webhook_status":"pending","webhook_last_error":null,"sent_at":null,
			"attempts":[],"payload":` + payload + `}],"pagination":{"total":1,"limit":50,"offset":0}}`)
	})
	t.Run("each attempt is listed", func(t *testing.T) {
		record := &api.store.Records[id][0]
		record.Status, record.LastError = "failed", new("no answer")
		record.Attempts = []event.Attempt{{At: now, Status: 503, Error: "the receiver answered 503"}, {At: now, Error: "no answer"}}
		api.get(path).hasStatus(http.StatusOK).hasBody(`{"events":[{"event_id":"` + eventID + `","event_type":"alert.blackout",
			"created_at":"2024-01-15T20:30:00+09:00","webhook_status":"failed","webhook_last_error":"no answer","sent_at":null,
			"attempts":[{"at":"2024-01-15T19:55:00.123+09:00","status":503,"error":"the receiver answered 503"},
				{"at":"2024-01-15T19:55:00.123+09:00","status":null,"error":"no answer"}],
			"payload":` + payload + `}],"pagination":{"total":1,"limit":50,"offset":0}}`)
	})
	t.Run("the list has pages", func(t *testing.T) {
		api.get(path + "?limit=1&offset=1").hasStatus(http.StatusOK).hasBody(`{"events":[],"pagination":{"total":1,"limit":1,"offset":1}}`)
	})
	t.Run("an event is redelivered", func(t *testing.T) {
		api.post(path+"/"+eventID+"/redeliver", "").hasStatus(http.StatusAccepted).hasBody(`{"event_id":"` + eventID + `","webhook_status":"pending"}`)
	})
	t.Run("an unknown event is not found", func(t *testing.T) {
		api.post(path+"/0190a5d0-1c2b-7d8a-9c1d-000000000002/redeliver", "").hasError(http.StatusNotFound, monitor.NotFound)
		api.post(path+"/latest/redeliver", "").hasError(http.StatusNotFound, monitor.NotFound, "UUID")
	})
}

func TestATestWebhookReportsItsOutcome(t *testing.T) {
	const path, body = "/api/v1/webhooks/test", `{"callback_url":"https://example.com/hook"}`
	t.Run("reports a delivery", func(t *testing.T) {
		api := newTestAPI(t)
		api.sender.Answer = event.Attempt{At: now, Status: 204}
		answer := api.post(path, body).hasStatus(http.StatusOK)
		answer.hasBody(`{"event_id":"00000000-0000-7000-8000-000000000001","delivered":true,"status":204,"error":null,"request":null,"response":null,"body":` + strconv.Quote(string(api.sender.Sent()[0].Body)) + `}`)
		if webhooks := api.sender.Sent(); len(webhooks) != 1 || !strings.Contains(string(webhooks[0].Body), `+09:00"`) {
			t.Errorf("sent %s", webhooks)
		}
	})
	t.Run("reports an unreachable receiver", func(t *testing.T) {
		api := newTestAPI(t)
		api.sender.Answer = event.Attempt{At: now, Error: "connection refused"}
		answer := api.post(path, body).hasStatus(http.StatusOK)
		answer.hasBody(`{"event_id":"00000000-0000-7000-8000-000000000001","delivered":false,"status":null,"error":"connection refused","request":null,"response":null,"body":` + strconv.Quote(string(api.sender.Sent()[0].Body)) + `}`)
	})
	for name, bad := range map[string]string{"nothing": `{}`, "a bad URL": `{"callback_url":"ftp://x"}`} {
		t.Run("refuses "+name, func(t *testing.T) {
			newTestAPI(t).post(path, bad).hasError(http.StatusBadRequest, monitor.InvalidURL, "callback_url")
		})
	}
	t.Run("refuses an unknown field", func(t *testing.T) {
		newTestAPI(t).post(path, `{"url":"https://example.com"}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "accepted are callback_url")
	})
}
