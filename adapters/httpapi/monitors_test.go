package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

const firstID = "mon-00000000000070008000000000000001"

func TestATooLargeBodyIsRefused(t *testing.T) {
	padded := func(n int) string { return registration + strings.Repeat(" ", n-len(registration)) }
	t.Run("64 KiB are accepted", func(t *testing.T) {
		newTestAPI(t).post("/api/v1/monitors", padded(64<<10)).hasStatus(http.StatusCreated)
	})
	t.Run("one byte more is refused", func(t *testing.T) {
		newTestAPI(t).post("/api/v1/monitors", padded(64<<10+1)).hasError(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "65536").hasHeaders("Connection", "close")
	})
	t.Run("the internal API accepts 1 MiB", func(t *testing.T) {
		api := newTestAPI(t)
		path := "/internal/v1/monitors/" + string(api.register("Q")) + "/status"
		api.put(path, `{"generation":1}`+strings.Repeat(" ", 1<<20-16)).hasStatus(http.StatusOK)
		api.put(path, `{"generation":1}`+strings.Repeat(" ", 1<<20-15)).hasError(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "1048576")
	})
}

func TestOnlyJSONBodiesAreAccepted(t *testing.T) {
	for given, accepted := range map[string]bool{
		"":                                  true,
		"application/json":                  true,
		"Application/JSON; charset=UTF-8":   true,
		"application/json; charset=latin-1": false,
		"text/plain":                        false,
		"application/x-www-form-urlencoded": true, // set by curl -d
		"multipart/form-data; boundary=x":   false,
		";;;":                               false,
	} {
		t.Run(strconv.Quote(given)+" is accepted: "+strconv.FormatBool(accepted), func(t *testing.T) {
			r := newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
			r.Header.Del("Content-Type")
			if given != "" {
				r.Header.Set("Content-Type", given)
			}
			a := newTestAPI(t).do(r)
			if accepted {
				a.hasStatus(http.StatusCreated)
				return
			}
			a.hasError(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "application/json")
		})
	}
	t.Run("a compressed body is refused", func(t *testing.T) {
		r := newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
		r.Header.Set("Content-Encoding", "gzip")
		newTestAPI(t).do(r).hasError(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
	})
}

func TestAnUnknownMonitorIsNotFound(t *testing.T) {
	for name, id := range map[string]string{"is unknown": noSuchID, "has another form": "42", "has capitals": strings.ToUpper(firstID), "contains SQL": "'%20or%201=1--"} {
		t.Run("answers 404 for an id that "+name, func(t *testing.T) {
			api := newTestAPI(t)
			api.register("Q")
			api.get("/api/v1/monitors/"+id).hasError(http.StatusNotFound, monitor.NotFound)
			api.delete("/api/v1/monitors/"+id).hasError(http.StatusNotFound, monitor.NotFound)
		})
	}
}

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
		expect.Equal(t, field, config[field], want)
	}
	api.patch(path, `{"callback_url":"https://example.com/night","metadata":{"name":"two"}}`).hasStatus(http.StatusOK)
	expect.Equal(t, "the revision is shown as", api.get(path).json()["revision"], 2.0)
	m, err := api.store.Get(t.Context(), id)
	if err != nil || m.CallbackURL != "https://example.com/night" || string(m.Metadata) != `{"name":"two"}` ||
		m.Config.ThresholdSec("blackout") != 12 || m.Config.ScheduledStartTime == nil || m.Revision != 2 {
		t.Errorf("stored is %+v, %v", m, err)
	}
	expect.Equal(t, "the answer to a change that changes nothing", string(api.get(path).body), string(api.patch(path, `{}`).body))
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

func TestMonitorsAreListedInPages(t *testing.T) { // section 3.4
	api := newTestAPI(t)
	ids := []monitor.ID{api.register("A"), api.register("B"), api.register("C")}
	got := api.pages("/api/v1/monitors?limit=2", "monitors", "monitor_id", "after")
	if want := []string{string(ids[2]), string(ids[1]), string(ids[0])}; strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the pages are %v, want %v", got, want)
	}
}

func TestATimelineHas288BucketsByDefault(t *testing.T) {
	api := newTestAPI(t)
	buckets := api.list("/api/v1/monitors/"+string(api.register("Q"))+"/timeline", "buckets")
	expect.Equal(t, "buckets", len(buckets), 288)
}
