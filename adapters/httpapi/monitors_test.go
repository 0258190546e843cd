package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const firstID = "mon-00000000000070008000000000000001"

func TestARegistrationIsStoredAndStartsAWorker(t *testing.T) {
	api := newTestAPI(t)
	a := api.post("/api/v1/monitors", registration).hasStatus(http.StatusCreated)
	a.hasBody(`{"monitor_id":"` + firstID + `","status":"initializing","created_at":"2024-01-15T19:55:00.123+09:00"}`)
	if a.header.Get("Location") != "/api/v1/monitors/"+firstID {
		t.Errorf("Location is %q", a.header.Get("Location"))
	}
	if started := api.workers.Started(); len(started) != 1 || started[0] != firstID {
		t.Errorf("workers started: %v", started)
	}
}

func TestARegistrationIsParsedStrictly(t *testing.T) {
	with := func(fields string) string { return strings.TrimSuffix(registration, "}") + fields + "}" }
	for name, c := range map[string]struct{ body, says string }{
		"an empty body":                   {``, "ends early"},
		"a truncated body":                {`{"stream_url":"`, "ends early"},
		"no JSON":                         {`stream_url=x`, "not valid JSON"},
		"an array":                        {`[` + registration + `]`, "not a JSON object"},
		"null":                            {`null`, "not a JSON object"},
		"a trailing comma":                {`{"stream_url":"x",}`, "not valid JSON"},
		"a second object":                 {registration + registration, "after the end"},
		"something after the end":         {registration + `x`, "after the end"},
		"an unknown field":                {with(`,"interval":5`), `"interval" is not a field; accepted are stream_url, callback_url, config, metadata`},
		"a name in other webhooks":        {with(`,"Metadata":{}`), `"Metadata" is not a field`},
		"a field given twice":             {with(`,"stream_url":"` + streamURL + `"`), "stream_url is given twice"},
		"an unknown field in config":      {with(`,"config":{"threshold":5}`), `config."threshold" is not a field`},
		"a field given twice in config":   {with(`,"config":{"check_interval_sec":5,"check_interval_sec":6}`), "config.check_interval_sec is given twice"},
		"a config that is null":           {with(`,"config":null`), "config is not a JSON object"},
		"a config that is a text":         {with(`,"config":"{}"`), "config is not a JSON object"},
		"an end that is before the start": {with(`,"config":{"scheduled_start_time":"2024-01-15T20:00:00Z","scheduled_end_time":"2024-01-15T19:00:00Z"}`), "must be after"},
		"text that is not UTF-8":          {with(",\"metadata\":{\"a\":\"\xff\"}"), "the body is not valid UTF-8"},
		"very deep nesting":               {with(`,"metadata":` + strings.Repeat(`[`, 20000)), "not valid JSON"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			api := newTestAPI(t)
			api.post("/api/v1/monitors", c.body).hasError(http.StatusBadRequest, monitor.InvalidConfig, c.says)
			if len(api.workers.Started()) != 0 {
				t.Error("a worker was started")
			}
		})
	}
}

func TestATooLargeBodyIsRefused(t *testing.T) {
	padded := func(n int) string { return registration + strings.Repeat(" ", n-len(registration)) }
	t.Run("64 KiB are accepted", func(t *testing.T) {
		newTestAPI(t).post("/api/v1/monitors", padded(64<<10)).hasStatus(http.StatusCreated)
	})
	t.Run("one byte more is refused", func(t *testing.T) {
		a := newTestAPI(t).post("/api/v1/monitors", padded(64<<10+1))
		a.hasError(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "65536")
		if a.header.Get("Connection") != "close" {
			t.Error("the connection is kept although the body is not read")
		}
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

func TestAMonitorIsShownWithItsState(t *testing.T) {
	t.Run("shows a new monitor that has not been checked", func(t *testing.T) {
		detectortest.Only(t, detector.Blackout, detector.Silence)
		api := newTestAPI(t)
		api.unvalidated = true // openapi.yaml may require the statistics of further detectors
		api.get("/api/v1/monitors/" + string(api.register("Q"))).hasStatus(http.StatusOK).hasBody(`{
			"monitor_id":"` + firstID + `","number":1,"stream_url":"` + streamURL + `","status":"initializing","stream_status":"unknown",
			"health":{"video":"unknown","audio":"unknown","last_check_at":null},
			"last_error":null,"blind_since":null,"last_observed_at":null,
			"statistics":{"total_segments_analyzed":0,"blackout_events":0,"silence_events":0},
			"config":{"check_interval_sec":10,"blackout_threshold_sec":30,"silence_threshold_sec":30,"silence_db_threshold":-50,
				"scheduled_start_time":null,"start_delay_tolerance_sec":300},
			"metadata":{},"revision":0,"created_at":"2024-01-15T19:55:00.123+09:00"}`)
	})
	t.Run("shows what the worker reported", func(t *testing.T) {
		api := newTestAPI(t)
		id := api.register("Q")
		api.put("/internal/v1/monitors/"+string(id)+"/status", completeReport).hasStatus(http.StatusOK)
		shown := api.get("/api/v1/monitors/" + string(id)).json()
		if shown["status"] != "monitoring" || shown["stream_status"] != "live" {
			t.Errorf("shown is %v", shown)
		}
		if health := shown["health"].(map[string]any); health["video"] != "black" || health["last_check_at"] != "2024-01-15T20:30:00+09:00" {
			t.Errorf("health is %v", health)
		}
	})
	t.Run("shows why a monitor failed and when it ended", func(t *testing.T) {
		api := newTestAPI(t)
		id := api.register("Q")
		api.store.Update(id, func(m *monitor.Monitor) {
			m.Status, m.Reason, m.EndedAt = monitor.Failed, "callback_failed", now.Add(time.Hour)
		})
		shown := api.get("/api/v1/monitors/" + string(id)).json()
		if shown["status"] != "error" || shown["reason"] != "callback_failed" || shown["ended_at"] != "2024-01-15T20:55:00.123+09:00" {
			t.Errorf("shown is %v", shown)
		}
	})
	t.Run("never shows the callback URL, which may carry a token", func(t *testing.T) {
		api := newTestAPI(t)
		if a := api.get("/api/v1/monitors/" + string(api.register("Q"))); strings.Contains(string(a.body), "example.com") {
			t.Errorf("shown is %s", a.body)
		}
	})
	for name, id := range map[string]string{"is unknown": noSuchID, "has another form": "42", "has capitals": strings.ToUpper(firstID), "contains SQL": "'%20or%201=1--"} {
		t.Run("answers 404 for an id that "+name, func(t *testing.T) {
			api := newTestAPI(t)
			api.register("Q")
			api.get("/api/v1/monitors/"+id).hasError(http.StatusNotFound, monitor.NotFound)
			api.delete("/api/v1/monitors/"+id).hasError(http.StatusNotFound, monitor.NotFound)
		})
	}
}

func TestAStopEndsTheMonitorOnce(t *testing.T) {
	api := newTestAPI(t)
	path := "/api/v1/monitors/" + string(api.register("Q"))
	const stopped = `{"monitor_id":"` + firstID + `","status":"stopped","stopped_at":"2024-01-15T19:55:00.123+09:00"}`
	t.Run("ends the monitor", func(t *testing.T) { api.delete(path).hasStatus(http.StatusOK).hasBody(stopped) })
	t.Run("is idempotent", func(t *testing.T) { api.delete(path).hasStatus(http.StatusOK).hasBody(stopped) })
	t.Run("does not change a failed monitor", func(t *testing.T) {
		api.store.Update(firstID, func(m *monitor.Monitor) { m.Status, m.EndedAt = monitor.Failed, now.Add(time.Minute) })
		api.delete(path).hasStatus(http.StatusOK).hasBody(`{"monitor_id":"` + firstID + `","status":"error","stopped_at":"2024-01-15T19:56:00.123+09:00"}`)
	})
}
