package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

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
		api.get("/api/v1/monitors/" + id).hasWords(`"metadata":`+want+`,`)
	}
}
