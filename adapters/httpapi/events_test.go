package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const anEvent = "0190a5d0-1c2b-7d8a-9c1d-000000000001"

func TestEvents(t *testing.T) {
	g := open(t)
	id := g.registers("Q")
	path := "/api/v1/monitors/" + string(id) + "/events"
	t.Run("are none at first", func(t *testing.T) {
		g.get(path).is(http.StatusOK).equals(`{"events":[],"pagination":{"total":0,"limit":50,"offset":0}}`)
	})
	reportsAnEvent(g, id)
	const payload = `{"event_id":"` + anEvent + `","event_type":"alert.blackout","monitor_id":"` + firstID + `","stream_url":"` + aStream + `",
		"timestamp":"2024-01-15T11:30:00Z","data":{"duration_sec":30,"started_at":"2024-01-15T11:29:30Z","threshold_sec":30,
		"segment_info":{"sequence":12345,"duration":5}},"metadata":{}}`
	t.Run("wait to be sent", func(t *testing.T) {
		g.get(path).is(http.StatusOK).equals(`{"events":[{"event_id":"` + anEvent + `","event_type":"alert.blackout",
			"created_at":"2024-01-15T20:30:00+09:00","webhook_status":"pending","webhook_last_error":null,"sent_at":null,
			"attempts":[],"payload":` + payload + `}],"pagination":{"total":1,"limit":50,"offset":0}}`)
	})
	t.Run("tell each attempt", func(t *testing.T) {
		g.store.Settle(id, anEvent, "failed", "no answer", time.Time{},
			registry.Attempt{At: now, Status: 503, Error: "the receiver answered 503"}, registry.Attempt{At: now, Error: "no answer"})
		g.get(path).is(http.StatusOK).equals(`{"events":[{"event_id":"` + anEvent + `","event_type":"alert.blackout",
			"created_at":"2024-01-15T20:30:00+09:00","webhook_status":"failed","webhook_last_error":"no answer","sent_at":null,
			"attempts":[{"at":"2024-01-15T19:55:00.123+09:00","status":503,"error":"the receiver answered 503"},
				{"at":"2024-01-15T19:55:00.123+09:00","status":null,"error":"no answer"}],
			"payload":` + payload + `}],"pagination":{"total":1,"limit":50,"offset":0}}`)
	})
	t.Run("come in pages", func(t *testing.T) {
		g.get(path + "?limit=1&offset=1").is(http.StatusOK).equals(`{"events":[],"pagination":{"total":1,"limit":1,"offset":1}}`)
		g.get(path+"?status=sent").fails(http.StatusBadRequest, monitor.InvalidConfig, "accepted are limit, offset")
	})
	t.Run("can be sent again", func(t *testing.T) {
		g.post(path+"/"+anEvent+"/redeliver", "").is(http.StatusAccepted).equals(`{"event_id":"` + anEvent + `","webhook_status":"pending"}`)
	})
	t.Run("cannot be sent again when there are none such", func(t *testing.T) {
		g.post(path+"/0190a5d0-1c2b-7d8a-9c1d-000000000002/redeliver", "").fails(http.StatusNotFound, monitor.NotFound)
		g.post(path+"/latest/redeliver", "").fails(http.StatusNotFound, monitor.NotFound, "UUID")
	})
}

func TestWebhookTest(t *testing.T) {
	const path, body = "/api/v1/webhooks/test", `{"callback_url":"https://example.com/hook"}`
	t.Run("tells that the receiver took it", func(t *testing.T) {
		g := open(t)
		g.courier.Answer = registry.Attempt{At: now, Status: 204}
		g.post(path, body).is(http.StatusOK).equals(`{"event_id":"00000000-0000-7000-8000-000000000001","delivered":true,"status":204,"error":null}`)
		if letters := g.courier.Sent(); len(letters) != 1 || !strings.Contains(string(letters[0].Body), `+09:00"`) {
			t.Errorf("sent %s", letters)
		}
	})
	t.Run("tells that it could not be reached", func(t *testing.T) {
		g := open(t)
		g.courier.Answer = registry.Attempt{At: now, Error: "connection refused"}
		g.post(path, body).is(http.StatusOK).equals(`{"event_id":"00000000-0000-7000-8000-000000000001","delivered":false,"status":null,"error":"connection refused"}`)
	})
	for name, bad := range map[string]string{"nothing": `{}`, "a bad URL": `{"callback_url":"ftp://x"}`} {
		t.Run("refuses "+name, func(t *testing.T) {
			open(t).post(path, bad).fails(http.StatusBadRequest, monitor.InvalidURL, "callback_url")
		})
	}
	t.Run("refuses what it does not know", func(t *testing.T) {
		open(t).post(path, `{"url":"https://example.com"}`).fails(http.StatusBadRequest, monitor.InvalidConfig, "accepted are callback_url")
	})
}
