package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// withOptional is an API whose table has one optional detector, made_up.
func withOptional(t *testing.T) *testAPI {
	t.Helper()
	detectortest.Only(t, detector.Blackout, detector.Silence)
	detectortest.Add(t, detectortest.Optional)
	api := newTestAPI(t)
	api.unvalidated = true // openapi.yaml does not know the made-up detector
	return api
}

func TestOptionalDetectorsRunIfTheyAreNamed(t *testing.T) { // section 3.1
	for config, want := range map[string]string{
		`{}`:                             ``,
		`{"detectors":null}`:             ``,
		`{"detectors":{}}`:               ``,
		`{"detectors":{"made_up":null}}`: ``,
		`{"detectors":{"made_up":{}}}`:   `{"made_up":{"above_db":-6.5,"threshold_sec":40}}`,
		`{"detectors":{"made_up":{"threshold_sec":9,"above_db":-12e0}}}`: `{"made_up":{"above_db":-12,"threshold_sec":9}}`,
	} {
		api := withOptional(t)
		id := registerWithFields(api, `,"config":`+config).hasStatus(http.StatusCreated).json()["monitor_id"].(string)
		expect.Equal(t, fmt.Sprintf("%s is shown as", config), configField(t, api, monitor.ID(id), "detectors"), want)
	}
	names := `accepted are `
	for detectors, words := range map[string][]string{
		`5`:                                 {"config.detectors is 5; accepted is an object"},
		`{"nothing":{}}`:                    {`config.detectors."nothing" is not a field; ` + names, "made_up"},
		`{"made_up":true}`:                  {"config.detectors.made_up is true; accepted is an object"},
		`{"made_up":{"level":1}}`:           {`config.detectors.made_up."level" is not a field; accepted are threshold_sec, above_db`},
		`{"made_up":{"threshold_sec":"9"}}`: {`config.detectors.made_up.threshold_sec is "9"; accepted is a whole number, 1 to 3600`},
		`{"made_up":{"threshold_sec":0,"above_db":1}}`: {"config.detectors.made_up.threshold_sec is 0; accepted is 1 to 3600",
			"config.detectors.made_up.above_db is 1; accepted is -60 to 0"},
	} {
		registerWithFields(withOptional(t), `,"config":{"detectors":`+detectors+`}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, words...)
	}
}

func TestAChangeOfOptionalDetectorsReplacesThoseItNames(t *testing.T) { // section 16.6
	api := withOptional(t)
	id := monitor.ID(registerWithFields(api, `,"config":{"detectors":{"made_up":{"threshold_sec":9}}}`).json()["monitor_id"].(string))
	for _, step := range []struct{ change, want string }{
		{`{"blackout_threshold_sec":12}`, `{"made_up":{"above_db":-6.5,"threshold_sec":9}}`},
		{`{"detectors":{}}`, `{"made_up":{"above_db":-6.5,"threshold_sec":9}}`},
		{`{"detectors":{"made_up":{"above_db":-12}}}`, `{"made_up":{"above_db":-12,"threshold_sec":40}}`},
		{`{"detectors":{"made_up":null}}`, ``},
		{`{"detectors":{"made_up":{}}}`, `{"made_up":{"above_db":-6.5,"threshold_sec":40}}`},
		{`{"detectors":null}`, ``},
	} {
		api.patch("/api/v1/monitors/"+string(id), `{"config":`+step.change+`}`).hasStatus(http.StatusOK)
		expect.Equal(t, fmt.Sprintf("after %s", step.change), configField(t, api, id, "detectors"), step.want)
	}
}

func TestAPresetGivesItsValuesAndOthersWin(t *testing.T) { // section 3.1
	api := newTestAPI(t)
	id := monitor.ID(registerWithFields(api, `,"config":{"silence_threshold_sec":7,"preset":"24x7"}`).hasStatus(http.StatusCreated).json()["monitor_id"].(string))
	for field, want := range map[string]string{
		"preset": `"24x7"`, "check_interval_sec": "30", "silence_threshold_sec": "7", "blackout_threshold_sec": "120", "on_callback_failure": `"continue"`,
	} {
		expect.Equal(t, field, configField(t, api, id, field), want)
	}
	path := "/api/v1/monitors/" + string(id)
	t.Run("its configuration can be registered again", func(t *testing.T) {
		before := api.get(path).body
		config, _ := json.Marshal(api.get(path).json()["config"])
		if after := api.patch(path, `{"config":`+string(config)+`}`).hasStatus(http.StatusOK).body; string(after) != string(before) {
			t.Errorf("changed to itself, it is %s, want %s", after, before)
		}
	})
	t.Run("another preset replaces its values", func(t *testing.T) {
		api.patch(path, `{"config":{"preset":"music","check_interval_sec":20}}`).hasStatus(http.StatusOK)
		if got := configField(t, api, id, "preset") + configField(t, api, id, "silence_threshold_sec") + configField(t, api, id, "check_interval_sec"); got != `"music"6020` {
			t.Errorf("has %s", got)
		}
	})
	t.Run("null removes the name only", func(t *testing.T) {
		api.patch(path, `{"config":{"preset":null}}`).hasStatus(http.StatusOK)
		if got := configField(t, api, id, "preset") + configField(t, api, id, "silence_threshold_sec"); got != `60` {
			t.Errorf("has %s", got)
		}
	})
	for given, word := range map[string]string{`"sport"`: `config.preset is "sport"; accepted are [talk music game 24x7 ceremony]`, `7`: "config.preset is 7; accepted is a string"} {
		api.unvalidated = true
		api.patch(path, `{"config":{"preset":`+given+`}}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, word)
	}
}

func TestPresetsAreListedWithEveryValueAndWhy(t *testing.T) { // section 17.4
	body := newTestAPI(t).get("/api/v1/presets").hasStatus(http.StatusOK).body
	var got struct {
		Presets []struct {
			Name   string
			Config map[string]any
		}
		Why []struct{ Field, Why string }
	}
	must.Do(t, json.Unmarshal(body, &got))
	if len(got.Presets) != 5 || got.Presets[0].Name != "talk" || got.Presets[0].Config["silence_threshold_sec"] != 20.0 || got.Presets[0].Config["on_callback_failure"] != "continue" {
		t.Errorf("the presets are %s", body)
	}
	for _, field := range []string{"scheduled_start_time", "start_delay_tolerance_sec", "preset"} {
		if _, given := got.Presets[0].Config[field]; given {
			t.Errorf("the preset sets %s", field)
		}
	}
	if len(got.Why) == 0 || !strings.Contains(got.Why[0].Why, " ") {
		t.Errorf("the reasons are %v", got.Why)
	}
}

func TestACSVFileSwitchesDetectorsOn(t *testing.T) { // section 16.6
	api := withOptional(t)
	other := strings.Replace(streamURL, "dQ", "aQ", 1)
	third := strings.Replace(streamURL, "dQ", "bQ", 1)
	_, got := api.postBatch(batchPath, "text/csv", "stream_url,callback_url,preset,detectors,detectors.made_up.threshold_sec\r\n"+
		streamURL+",https://example.com/hook,24x7,,9\r\n"+
		other+",https://example.com/hook,,\"{\"\"made_up\"\":{}}\",\r\n"+
		third+",https://example.com/hook,,,soon\r\n")
	if got.Registered != 2 || got.Refused != 1 || !strings.Contains(got.Results[2].Error.Message, `config.detectors.made_up.threshold_sec is "soon"`) {
		t.Fatalf("got %+v", got)
	}
	for i, want := range []string{`{"made_up":{"above_db":-6.5,"threshold_sec":9}}`, `{"made_up":{"above_db":-6.5,"threshold_sec":40}}`} {
		expect.Equal(t, fmt.Sprintf("row %d", i), configField(t, api, monitor.ID(got.Results[i].MonitorID), "detectors"), want)
	}
}

func TestHealthShowsTheStatesOfDetectors(t *testing.T) { // section 3.3
	api := withOptional(t)
	id := string(api.register("Q"))
	report := func(conditions string) {
		api.put("/internal/v1/monitors/"+id+"/status", `{"generation":1,"status":"monitoring","health":{"video":"ok","audio":"made_up"`+conditions+`}}`).hasStatus(http.StatusOK)
	}
	report(`,"conditions":[{"detector":"made_up","state":"made_up","since":"2024-01-15T11:00:00Z","alerted":true,"values":{"level":-3.5}},{"detector":"other","state":"ok"}],
		"renditions":[{"height":720,"bandwidth":2800000,"state":"black","looked_at":"2024-01-15T11:00:00Z"},{"height":480,"bandwidth":0,"state":"unknown"},{"height":360,"state":"paused"}]`)
	const want = `"conditions":[{"detector":"made_up","condition":"made_up_heard","track":"audio","state":"made_up","since":"2024-01-15T20:00:00+09:00","alerted":true,"values":{"level":-3.5}}],` +
		`"renditions":[{"height":720,"bandwidth":2800000,"state":"black","looked_at":"2024-01-15T20:00:00+09:00"},{"height":480,"bandwidth":0,"state":"unknown","looked_at":null}]`
	for _, path := range []string{"/api/v1/monitors/" + id, "/api/v1/monitors"} {
		api.get(path).hasStatus(http.StatusOK).hasWords(want)
	}
	report("")
	api.get("/api/v1/monitors/"+id).lacksWords("conditions", "renditions")
}

// registerWithFields registers with the given fields beside the two required ones.
func registerWithFields(api *testAPI, fields string) response {
	api.t.Helper()
	return api.post("/api/v1/monitors", strings.TrimSuffix(registration, "}")+fields+"}")
}

// TestAConfigAcceptsTheSpecifiedValues tests the table of section 3.1: defaults, and what is read of JSON.
// Package monitor tests the ranges.
func TestAConfigAcceptsTheSpecifiedValues(t *testing.T) {
	for _, p := range []struct {
		name     string
		initial  string   // shown by GET if the field is missing
		accepted []string // GET shows the value after the arrow, or the same value
		refused  []string
	}{
		{"check_interval_sec", `10`,
			[]string{`300`, `60.0 → 60`, `3e1 → 30`},
			[]string{`301`, `10.5`, `"10"`, `null`, `true`, `[10]`, `1e99`, `99999999999999999999`}},
		{"blackout_threshold_sec", `30`, []string{`3600`}, []string{`0`, `10.5`, `"30"`, `{}`, `null`}},
		{"silence_threshold_sec", `30`, []string{`3600`}, []string{`0`, `10.5`, `"30"`, `{}`, `null`}},
		{"silence_db_threshold", `-50`, []string{`-100`, `-35.5`}, []string{`-100.01`, `"-50"`, `null`, `-1e999`}},
		{"start_delay_tolerance_sec", `300`, []string{`0`}, []string{`86401`, `0.5`, `"300"`, `null`}},
		{"scheduled_start_time", `null`,
			[]string{
				`null`,
				`"2024-01-15T20:00:00+09:00"`,
				`"2024-01-15T11:00:00Z" → "2024-01-15T20:00:00+09:00"`,
				`"2024-01-15t11:00:00z" → "2024-01-15T20:00:00+09:00"`,
				`"2024-01-15T20:00:00.5+09:00"`,
				`"2024-01-15T20:00:00+0900" → "2024-01-15T20:00:00+09:00"`,
				`"2024-01-15T20:00+09:00" → "2024-01-15T20:00:00+09:00"`,
				`"2024-01-15T11:00Z" → "2024-01-15T20:00:00+09:00"`,
				`"2024-01-16T10:59:00+23:59" → "2024-01-15T20:00:00+09:00"`,
				`"9998-12-31T23:59:59Z" → "9999-01-01T08:59:59+09:00"`,
			},
			[]string{
				`"tomorrow"`, `""`, `1705316400`,
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
				`"9999-12-31T23:59:59-12:00"`, // 10000 in UTC
			}},
		{"on_callback_failure", ``, []string{`null → `}, []string{`""`, `1`}}, // null is nothing to change to (section 19.5)
		{"scheduled_end_time", ``, []string{`null → `, `"2024-01-15T22:00:00+09:00"`}, []string{`"later"`, `0`}},
	} {
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
					hasError(http.StatusBadRequest, monitor.InvalidConfig, "config."+p.name, "accepted ")
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
	must.Do(t, json.Unmarshal(api.get("/api/v1/monitors/"+string(id)).hasStatus(http.StatusOK).body, &body))
	return string(body.Config[name])
}

func TestMetadataIsReturnedUnchanged(t *testing.T) { // section 3.1
	for given, want := range map[string]string{
		``: `{}`, // not given
		`,"metadata":{"z":1.0,"a":{"y":[],"b":1e2},"t":"配信タイトル <b>&\u2028\"\ud83d\ude00","c":123456789012345678901234567890}`: `{"z":1.0,"a":{"y":[],"b":1e2},"t":"配信タイトル <b>&\u2028\"\ud83d\ude00","c":123456789012345678901234567890}`,
	} {
		api := newTestAPI(t)
		id := registerWithFields(api, given).hasStatus(http.StatusCreated).json()["monitor_id"].(string)
		api.get("/api/v1/monitors/" + id).hasWords(`"metadata":` + want + `,`)
	}
}
