package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// registerWithFields registers with the given fields beside the two required ones.
func registerWithFields(api *testAPI, fields string) response {
	api.t.Helper()
	return api.post("/api/v1/monitors", strings.TrimSuffix(registration, "}")+fields+"}")
}

// acceptedTimes are accepted for both times of a registration. GET shows the value
// after the arrow, or the same value.
var acceptedTimes = []string{
	`"2024-01-15T20:00:00+09:00"`,
	`"2024-01-15T11:00:00Z" → "2024-01-15T20:00:00+09:00"`,
	`"2024-01-15t11:00:00z" → "2024-01-15T20:00:00+09:00"`,
	`"2024-01-15T20:00:00.5+09:00"`,
	`"2024-01-15T20:00:00+0900" → "2024-01-15T20:00:00+09:00"`,
	`"2024-01-15T20:00+09:00" → "2024-01-15T20:00:00+09:00"`,
	`"2024-01-15T11:00Z" → "2024-01-15T20:00:00+09:00"`,
	`"2024-01-16T10:59:00+23:59" → "2024-01-15T20:00:00+09:00"`,
	`"9998-12-31T23:59:59Z" → "9999-01-01T08:59:59+09:00"`,
}

// refusedTimes are refused for both times of a registration.
var refusedTimes = []string{
	`"2024-01-15T20:00:00"`,
	`"2024-01-15T20:00"`,
	`"2024-01-15"`,
	`"2024-02-30T00:00:00Z"`,
	`"2024-01-15T20:00:00+24:00"`,
	`"2024-01-15T20:00:00+23:60"`,
	`"2024-01-15T20:00:00+2400"`,
	`"2024-01-15T2:00:00Z"`,
	`"2024-01-15T20:00:00,5Z"`,
	`"2024-01-15T20:00:00.Z"`,
	`"1999-12-29T23:59:59Z"`,
	`"9999-01-03T00:00:00Z"`,
	`"9999-12-31T23:59:59-12:00"`, // 10000 in UTC
	`"9999-12-31T23:59:59+23:59"`,
}

// TestAConfigAcceptsTheSpecifiedValues tests the table of section 3.1: defaults, accepted
// and refused values.
func TestAConfigAcceptsTheSpecifiedValues(t *testing.T) {
	for _, p := range []struct {
		name     string
		initial  string   // shown by GET if the field is missing
		accepted []string // GET shows the value after the arrow, or the same value
		refused  []string
	}{
		{"check_interval_sec", `10`,
			[]string{`1`, `300`, `60.0 → 60`, `3e1 → 30`},
			[]string{`0`, `301`, `-1`, `10.5`, `"10"`, `null`, `true`, `[10]`, `1e99`, `99999999999999999999`}},
		{"blackout_threshold_sec", `30`,
			[]string{`1`, `3600`}, []string{`0`, `3601`, `10.5`, `"30"`, `{}`, `null`}},
		{"silence_threshold_sec", `30`,
			[]string{`1`, `3600`}, []string{`0`, `3601`, `10.5`, `"30"`, `{}`, `null`}},
		{"silence_db_threshold", `-50`,
			[]string{`-100`, `0`, `-35.5`}, []string{`-100.01`, `0.01`, `"-50"`, `null`, `-1e999`}},
		{"scheduled_start_time", `null`,
			[]string{
				`null`,
				`"2000-01-01T00:00:00Z" → "2000-01-01T09:00:00+09:00"`,
				`"1999-12-31T20:00:00-05:00" → "2000-01-01T10:00:00+09:00"`,
			},
			[]string{`"tomorrow"`, `""`, `1705316400`}},
		{"start_delay_tolerance_sec", `300`,
			[]string{`0`, `86400`}, []string{`-1`, `86401`, `0.5`, `"300"`, `null`}},
		{"scheduled_end_time", ``,
			[]string{`null → `, `"2024-01-15T22:00:00+09:00"`}, []string{`"later"`, `0`}},
	} {
		if strings.HasSuffix(p.name, "_time") {
			p.accepted, p.refused = append(p.accepted, acceptedTimes...), append(p.refused, refusedTimes...)
		}
		t.Run("config."+p.name+" has its default", func(t *testing.T) {
			api := newTestAPI(t)
			if shown := configField(t, api, api.register("Q"), p.name); shown != p.initial {
				t.Errorf("default is %s, expected %s", shown, p.initial)
			}
		})
		for _, value := range p.accepted {
			given, shown, differs := strings.Cut(value, " → ")
			if !differs {
				shown = given
			}
			t.Run("config."+p.name+" accepts "+given, func(t *testing.T) {
				api := newTestAPI(t)
				a := registerWithFields(api, `,"config":{"`+p.name+`":`+given+`}`).hasStatus(http.StatusCreated)
				if got := configField(t, api, monitor.ID(a.json()["monitor_id"].(string)), p.name); got != shown {
					t.Errorf("shown is %s, expected %s", got, shown)
				}
			})
		}
		for _, value := range p.refused {
			t.Run("config."+p.name+" refuses "+value, func(t *testing.T) {
				registerWithFields(newTestAPI(t), `,"config":{"`+p.name+`":`+value+`}`).
					hasError(http.StatusBadRequest, monitor.InvalidConfig, "config."+p.name, "accepted is")
			})
		}
	}
}

// configField returns a field of config as GET shows it, or "".
func configField(t *testing.T, api *testAPI, id monitor.ID, name string) string {
	t.Helper()
	var body struct {
		Config map[string]json.RawMessage `json:"config"`
	}
	if err := json.Unmarshal(api.get("/api/v1/monitors/"+string(id)).hasStatus(http.StatusOK).body, &body); err != nil {
		t.Fatal(err)
	}
	return string(body.Config[name])
}

// TestURLsAreValidatedAndNormalised tests the first two rows of the table of section 3.1.
func TestURLsAreValidatedAndNormalised(t *testing.T) {
	for name, body := range map[string]string{
		"stream_url missing":             `{"callback_url":"https://example.com/"}`,
		"stream_url null":                `{"stream_url":null,"callback_url":"https://example.com/"}`,
		"stream_url empty":               `{"stream_url":"","callback_url":"https://example.com/"}`,
		"stream_url a channel":           `{"stream_url":"https://www.youtube.com/@news","callback_url":"https://example.com/"}`,
		"stream_url short":               `{"stream_url":"https://youtu.be/dQw4w9WgXcQ","callback_url":"https://example.com/"}`,
		"stream_url under /live/":        `{"stream_url":"https://www.youtube.com/live/dQw4w9WgXcQ","callback_url":"https://example.com/"}`,
		"stream_url a playlist":          `{"stream_url":"https://www.youtube.com/playlist?list=PL0123456789","callback_url":"https://example.com/"}`,
		"callback_url missing":           `{"stream_url":"` + streamURL + `"}`,
		"callback_url null":              `{"stream_url":"` + streamURL + `","callback_url":null}`,
		"callback_url of 513 characters": `{"stream_url":"` + streamURL + `","callback_url":"https://example.com/` + strings.Repeat("x", 493) + `"}`,
		"callback_url with a password":   `{"stream_url":"` + streamURL + `","callback_url":"https://a:b@example.com/"}`,
		"callback_url with a fragment":   `{"stream_url":"` + streamURL + `","callback_url":"https://example.com/#top"}`,
		"callback_url of another scheme": `{"stream_url":"` + streamURL + `","callback_url":"file:///etc/passwd"}`,
	} {
		t.Run("is refused: "+name, func(t *testing.T) {
			field, _, _ := strings.Cut(name, " ")
			newTestAPI(t).post("/api/v1/monitors", body).hasError(http.StatusBadRequest, monitor.InvalidURL, field)
		})
	}
	for _, why := range []string{"leads to a private network", "plain http is not accepted here"} {
		t.Run("is refused by the callback policy: "+why, func(t *testing.T) {
			api := newTestAPI(t)
			api.policy = monitor.Errorf(monitor.InvalidURL, "callback_url: %s", why)
			api.post("/api/v1/monitors", strings.Replace(registration, "https://example", "http://example", 1)).
				hasError(http.StatusBadRequest, monitor.InvalidURL, why)
		})
	}
	t.Run("is stored in its canonical form", func(t *testing.T) {
		api := newTestAPI(t)
		a := api.post("/api/v1/monitors", `{"stream_url":"http://m.youtube.com/watch?v=dQw4w9WgXcQ&t=5","callback_url":"https://example.com/"}`).hasStatus(201)
		if shown := api.get("/api/v1/monitors/" + a.json()["monitor_id"].(string)).json()["stream_url"]; shown != streamURL {
			t.Errorf("stored is %v", shown)
		}
	})
	t.Run("is refused with INVALID_CONFIG unless it is a string", func(t *testing.T) {
		newTestAPI(t).post("/api/v1/monitors", `{"stream_url":5,"callback_url":"https://example.com/"}`).
			hasError(http.StatusBadRequest, monitor.InvalidConfig, "stream_url is 5; accepted is a string")
	})
}

// TestMetadataIsReturnedUnchanged tests the last row of the table of section 3.1.
func TestMetadataIsReturnedUnchanged(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing in it":      `{}`,
		"text of any kind":   `{"t":"配信タイトル <b>&\u2028\"","e":"\u00e9\ud83d\ude00"}`,
		"numbers as written": `{"a":1.0,"b":1e2,"c":123456789012345678901234567890,"d":-0}`,
		"its own order":      `{"z":1,"a":{"y":[],"b":null}}`,
	} {
		t.Run("is returned byte for byte with "+name, func(t *testing.T) {
			api := newTestAPI(t)
			id := registerWithFields(api, `,"metadata":`+raw).hasStatus(http.StatusCreated).json()["monitor_id"].(string)
			if a := api.get("/api/v1/monitors/" + id); !strings.Contains(string(a.body), `"metadata":`+raw+`,`) {
				t.Errorf("returned in %s", a.body)
			}
		})
	}
	t.Run("is {} when it is not given", func(t *testing.T) {
		api := newTestAPI(t)
		if a := api.get("/api/v1/monitors/" + string(api.register("Q"))); !strings.Contains(string(a.body), `"metadata":{},`) {
			t.Errorf("returned in %s", a.body)
		}
	})
	for _, raw := range []string{`null`, `[]`, `"x"`, `1`, `{"a":"\u0000"}`, `{"a":"` + strings.Repeat("x", 16<<10) + `"}`} {
		t.Run("is refused: "+raw[:min(len(raw), 20)], func(t *testing.T) {
			registerWithFields(newTestAPI(t), `,"metadata":`+raw).hasError(http.StatusBadRequest, monitor.InvalidConfig, "metadata")
		})
	}
}

// TestMonitorsAreFilteredByStatus tests the list of statuses in section 3.4.
func TestMonitorsAreFilteredByStatus(t *testing.T) {
	for _, status := range []string{"initializing", "waiting", "monitoring", "completed", "stopped", "error"} {
		t.Run(status, func(t *testing.T) {
			api := newTestAPI(t)
			api.register("A")
			id := api.register("B")
			api.store.Update(id, func(m *monitor.Monitor) { m.Status = monitor.Status(status) })
			a := api.get("/api/v1/monitors?status=" + status).hasStatus(http.StatusOK)
			found := a.json()["monitors"].([]any)
			if status == "initializing" && len(found) != 2 || status != "initializing" && len(found) != 1 {
				t.Fatalf("found %v", found)
			}
			if first := found[0].(map[string]any); first["status"] != status || first["monitor_id"] != string(id) {
				t.Errorf("found %v", first)
			}
		})
	}
}
