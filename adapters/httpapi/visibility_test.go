package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// blindReport is the report of a worker that was blind for 5 minutes.
const blindReport = `{
	"generation": 1,
	"status": "waiting",
	"visibility": {"last_error": "DNS does not resolve\u0000\nwww.youtube.com", "blind_since": "2024-01-15T20:05:00+09:00", "last_observed_at": "2024-01-15T20:04:30+09:00"},
	"events": [{"event_id": "` + eventID + `", "event_type": "monitor.error", "timestamp": "2024-01-15T20:10:00+09:00",
		"data": {"reason": "blind", "error_details": "DNS", "terminal": false}}]
}`

func TestBlindnessAndItsEndAreShown(t *testing.T) { // decision S15
	api := newTestAPI(t)
	id := string(api.register("Q"))
	report := func(body string) {
		t.Helper()
		api.put("/internal/v1/monitors/"+id+"/status", ofFirstGeneration(body)).hasStatus(http.StatusOK)
	}
	shows := func(lastError, blindSince, lastObserved, resolved any) {
		t.Helper()
		m := api.get("/api/v1/monitors/" + id).hasStatus(http.StatusOK).json()
		for field, want := range map[string]any{"last_error": lastError, "blind_since": blindSince, "last_observed_at": lastObserved} {
			if got, is := m[field]; !is || got != want {
				t.Errorf("%s is %v, want %v", field, got, want)
			}
		}
		for _, e := range api.get("/api/v1/monitors/" + id + "/events").hasStatus(http.StatusOK).json()["events"].([]any) {
			if got := e.(map[string]any)["resolved_at"]; got != resolved {
				t.Errorf("resolved_at is %v, want %v", got, resolved)
			}
		}
	}
	shows(nil, nil, nil, nil)
	report(blindReport)
	shows("DNS does not resolve\ufffd www.youtube.com", "2024-01-15T20:05:00+09:00", "2024-01-15T20:04:30+09:00", nil)
	report(`{"status":"waiting"}`) // a report without visibility changes nothing
	shows("DNS does not resolve\ufffd www.youtube.com", "2024-01-15T20:05:00+09:00", "2024-01-15T20:04:30+09:00", nil)
	report(`{"visibility":{"last_observed_at":"2024-01-15T20:20:00+09:00"}}`)
	shows(nil, nil, "2024-01-15T20:20:00+09:00", "2024-01-15T20:20:00+09:00")
	report(`{"visibility":{"last_observed_at":"2024-01-15T20:21:00+09:00"}}`)
	shows(nil, nil, "2024-01-15T20:21:00+09:00", "2024-01-15T20:20:00+09:00")
}

func TestBlindnessThatEndedBeforeItWasReportedIsResolved(t *testing.T) {
	api := newTestAPI(t)
	path := "/internal/v1/monitors/" + string(api.register("Q"))
	api.put(path+"/status", strings.Replace(blindReport, `"blind_since": "2024-01-15T20:05:00+09:00", `, "", 1)).hasStatus(http.StatusOK)
	events := api.get(strings.Replace(path, "internal", "api", 1) + "/events").json()["events"].([]any)
	if got := events[0].(map[string]any)["resolved_at"]; got != "2024-01-15T20:04:30+09:00" {
		t.Errorf("resolved_at is %v", got)
	}
}
