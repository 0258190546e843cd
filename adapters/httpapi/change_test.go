package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAChangeKeepsWhatItLeavesOut(t *testing.T) { // section 16.6
	api := newTestAPI(t)
	created := api.post("/api/v1/monitors", strings.TrimSuffix(registration, "}")+
		`,"config":{"silence_db_threshold":-40,"scheduled_start_time":"2024-01-15T20:00:00+09:00","scheduled_end_time":"2024-01-15T23:00:00+09:00"},"metadata":{"name":"one"}}`)
	id := monitor.ID(created.hasStatus(http.StatusCreated).json()["monitor_id"].(string))
	path := "/api/v1/monitors/" + string(id)

	a := api.patch(path, `{"config":{"blackout_threshold_sec":12,"scheduled_end_time":null}}`).hasStatus(http.StatusOK)
	config := a.json()["config"].(map[string]any)
	for field, want := range map[string]any{
		"blackout_threshold_sec": 12.0, "silence_db_threshold": -40.0, "check_interval_sec": 10.0,
		"scheduled_start_time": "2024-01-15T20:00:00+09:00", "scheduled_end_time": nil,
	} {
		if config[field] != want {
			t.Errorf("%s is %v, want %v", field, config[field], want)
		}
	}
	api.patch(path, `{"callback_url":"https://example.com/night","metadata":{"name":"two"}}`).hasStatus(http.StatusOK)
	if got := api.get(path).json()["revision"]; got != 2.0 {
		t.Errorf("the revision is shown as %v, want 2", got)
	}
	m, err := api.store.Get(t.Context(), id)
	if err != nil || m.CallbackURL != "https://example.com/night" || string(m.Metadata) != `{"name":"two"}` ||
		m.Config.ThresholdSec("blackout") != 12 || m.Config.ScheduledStartTime == nil || m.Revision != 2 {
		t.Errorf("stored is %+v, %v", m, err)
	}
	if got := string(api.get(path).body); got != string(api.patch(path, `{}`).body) {
		t.Errorf("a change that changes nothing is not answered as %s", got)
	}
	if m, _ := api.store.Get(t.Context(), id); m.Revision != 2 {
		t.Errorf("the revision is %d after a change that changes nothing", m.Revision)
	}
}

func TestARepeatedChangeIsNotCheckedAgain(t *testing.T) { // section 16.6
	api := newTestAPI(t)
	id := api.register("Q")
	change := `{"callback_url":"https://example.com/other","config":{"scheduled_end_time":"2024-01-15T12:00:00Z"}}`
	api.patch("/api/v1/monitors/"+string(id), change).hasStatus(http.StatusOK)
	api.policy = monitor.Errorf(monitor.InvalidURL, "callback_url: 10.0.0.1 is a private address")
	past := now.Add(-time.Hour).Truncate(time.Millisecond)
	api.db.Exec(t, `UPDATE monitors SET config = jsonb_set(config, '{scheduled_end_time}', to_jsonb($2::text)) WHERE id = $1`, id, past.Format(time.RFC3339Nano))
	api.patch("/api/v1/monitors/"+string(id), strings.Replace(change, "12:00:00Z", past.Format("15:04:05.000000000Z07:00"), 1)).hasStatus(http.StatusOK)
	api.patch("/api/v1/monitors/"+string(id), `{"callback_url":"https://example.com/third"}`).hasError(http.StatusBadRequest, monitor.InvalidURL, "10.0.0.1")
}
