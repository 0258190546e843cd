package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// missingFromDocument compares openapi.yaml, which is written by hand, with the table of
// detectors, and lists what to add or change there.
func missingFromDocument(doc *openapi3.T) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	config := doc.Components.Schemas["Config"].Value.Properties
	for _, s := range monitor.Settings() {
		property := config[s.Field]
		kind := "number"
		if s.Whole {
			kind = "integer"
		}
		want := fmt.Sprintf("%s: { type: %s, minimum: %v, maximum: %v, default: %v }", s.Field, kind, s.Min, s.Max, s.Default)
		switch {
		case property == nil:
			add("schema Config: add %s", want)
		case property.Value.Min == nil || property.Value.Max == nil || !property.Value.Type.Is(kind) ||
			*property.Value.Min != s.Min || *property.Value.Max != s.Max || property.Value.Default != s.Default:
			add("schema Config: change to %s", want)
		}
	}
	for field := range (monitor.Statistics{}).Fields() {
		if doc.Components.Schemas["Statistics"].Value.Properties[field] == nil {
			add("schema Statistics: add %s", field)
		}
		required := doc.Components.Schemas["Monitor"].Value.Properties["statistics"].Value.AllOf[1].Value.Required
		if !slices.Contains(required, field) {
			add("schema Monitor: require statistics.%s", field)
		}
	}
	for schema, track := range map[string]detector.Track{"VideoCondition": detector.Video, "AudioCondition": detector.Audio} {
		for _, word := range monitor.Conditions(track) {
			if !slices.Contains(doc.Components.Schemas[schema].Value.Enum, any(string(word))) {
				add("schema %s: add %s", schema, word)
			}
		}
	}
	for _, typ := range event.Types() {
		if !slices.Contains(doc.Components.Schemas["EventType"].Value.Enum, any(string(typ))) {
			add("schema EventType: add %s", typ)
		}
	}
	return list
}

// TestTheDocumentFollowsTheTableOfDetectors names every line that openapi.yaml lacks
// after a row was added to the table.
func TestTheDocumentFollowsTheTableOfDetectors(t *testing.T) {
	doc := document(t).doc
	for _, line := range missingFromDocument(doc) {
		t.Errorf("openapi.yaml, %s", line)
	}
	detectortest.Add(t, detectortest.Frozen)
	got := missingFromDocument(doc)
	slices.Sort(got)
	want := []string{
		"schema Config: add frozen_difference: { type: number, minimum: 0, maximum: 1, default: 0.25 }",
		"schema Config: add frozen_threshold_sec: { type: integer, minimum: 5, maximum: 600, default: 45 }",
		"schema EventType: add alert.frozen",
		"schema EventType: add alert.frozen_recovered",
		"schema Monitor: require statistics.frozen_events",
		"schema Statistics: add frozen_events",
		"schema VideoCondition: add frozen",
	}
	if !slices.Equal(got, want) {
		t.Errorf("a third detector needs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAThirdDetectorIsConfiguredReportedAndShown(t *testing.T) {
	detectortest.Add(t, detectortest.Frozen)
	api := newTestAPI(t)
	api.unvalidated = true // openapi.yaml does not know the made-up detector
	a := registerWithFields(api, `,"config":{"frozen_threshold_sec":60,"frozen_difference":0.5}`).hasStatus(http.StatusCreated)
	id := monitor.ID(a.json()["monitor_id"].(string))
	if got := configField(t, api, id, "frozen_threshold_sec") + " " + configField(t, api, id, "frozen_difference"); got != "60 0.5" {
		t.Errorf("the settings are %s", got)
	}
	registerWithFields(api, `,"config":{"frozen_threshold_sec":1}`).
		hasError(http.StatusBadRequest, monitor.InvalidConfig, "config.frozen_threshold_sec is 1; accepted is 5 to 600")
	api.put("/internal/v1/monitors/"+string(id)+"/status", `{"status":"monitoring","health":{"video":"frozen"},"statistics":{"frozen_events":2},`+
		`"events":[{"event_id":"0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d","event_type":"alert.frozen","timestamp":"2024-01-15T20:00:00+09:00",`+
		`"data":{"duration_sec":60,"started_at":"2024-01-15T19:59:00+09:00","threshold_sec":60,"segment_info":{"sequence":1,"duration":2}}}]}`).hasStatus(http.StatusOK)
	body := api.get("/api/v1/monitors/" + string(id)).hasStatus(http.StatusOK).body
	for _, want := range []string{`"video":"frozen"`, `"frozen_events":2`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("GET shows no %s: %s", want, body)
		}
	}
	if body := api.get("/api/v1/monitors/" + string(id) + "/events").hasStatus(http.StatusOK).body; !strings.Contains(string(body), "alert.frozen") {
		t.Errorf("the history is %s", body)
	}
}
