package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const openapi = "openapi.yaml"

// block matches a block of openapi.yaml that follows from the table of detectors,
// with its indentation, its name and its lines.
var block = regexp.MustCompile(`(?ms)^( *)# detectors: begin ([a-z ]+)\n(.*?)^ *# detectors: end$`)

// blocks returns the lines of each block.
func blocks() map[string][]string {
	lines := map[string][]string{}
	add := func(name, format string, args ...any) {
		lines[name] = append(lines[name], fmt.Sprintf(format, args...))
	}
	for _, d := range detector.Table {
		add("statistics", "%s: { type: integer, minimum: 0, maximum: 2147483647 }", d.Statistic)
		add("event types", "- %s", d.Alert)
		add("event types", "- %s", d.Recovered)
		add("names", "- %s", d.Name)
		add("conditions", "- %s", d.Condition)
		if d.Optional {
			continue
		}
		add("statistics example", "%s: %d", d.Statistic, len(lines["statistics example"]))
		add("names of statistics", "- %s", d.Statistic)
		add("settings", "%s", property(d, d.Threshold))
	}
	for _, d := range detector.Table {
		for _, s := range d.Settings {
			if !d.Optional {
				add("settings", "%s", property(d, s))
			}
		}
	}
	for _, d := range detector.Optional() {
		add("optional settings", "%s:", d.Name)
		add("optional settings", "  type: object")
		add("optional settings", "  nullable: true")
		add("optional settings", "  additionalProperties: false")
		add("optional settings", "  properties:")
		for _, s := range d.AllSettings() {
			add("optional settings", "    %s", property(d, s))
		}
	}
	for _, track := range []detector.Track{detector.Video, detector.Audio} {
		for _, word := range detector.Conditions(track) {
			add(string(track)+" conditions", "- %s", word)
		}
	}
	return lines
}

// property returns a setting as a property of the schema Config.
func property(d detector.Detector, s detector.Setting) string {
	kind := "number"
	if s.Whole {
		kind = "integer"
	}
	description := strings.ReplaceAll(s.Help, d.Alert, "`"+d.Alert+"`")
	return fmt.Sprintf("%s: { type: %s, minimum: %s, maximum: %s, default: %s, description: %q }",
		s.Key(), kind, detector.Format(s.Min), detector.Format(s.Max), detector.Format(s.Default), description)
}

// rendered returns the document with its blocks as the table has them. Every block
// must be there once.
func rendered(t *testing.T, doc string) string {
	t.Helper()
	missing := blocks()
	doc = block.ReplaceAllStringFunc(doc, func(old string) string {
		m := block.FindStringSubmatch(old)
		indent, name := m[1], m[2]
		lines, ok := missing[name]
		if !ok {
			t.Fatalf("%s: the block %q is unknown or there twice", openapi, name)
		}
		delete(missing, name)
		lines = slices.Concat([]string{"# detectors: begin " + name}, lines, []string{"# detectors: end"})
		return indent + strings.Join(lines, "\n"+indent)
	})
	for name := range missing {
		t.Errorf("%s: the block %q is missing", openapi, name)
	}
	return doc
}

// WRITE_DOCS=1 go test ./adapters/httpapi -run Detectors writes the blocks.
func TestTheDocumentFollowsTheTableOfDetectors(t *testing.T) {
	want := rendered(t, string(httpapi.Document()))
	if os.Getenv("WRITE_DOCS") != "" {
		must.Do(t, os.WriteFile(openapi, []byte(want), 0o644))
		return
	}
	if want != string(httpapi.Document()) {
		t.Errorf("%s does not follow detector.Table; write it: WRITE_DOCS=1 go test ./adapters/httpapi -run Detectors", openapi)
	}
}

// TestTheDashboardIsTestedWithTheDetectorsThatTheAPILists keeps what its tests have of the API, with a
// made-up third detector and an optional one. WRITE_DOCS=1 writes it.
func TestTheDashboardIsTestedWithTheDetectorsThatTheAPILists(t *testing.T) {
	detectortest.Only(t, detector.Blackout, detector.Silence)
	detectortest.Add(t, detectortest.Imaginary)
	detectortest.Add(t, detectortest.Optional)
	api := newTestAPI(t)
	api.unvalidated = true
	var want bytes.Buffer
	must.Do(t, json.Indent(&want, api.get("/api/v1/detectors").hasStatus(http.StatusOK).body, "", "  "))
	path := filepath.Join("ui", "test", "detectors.json")
	if os.Getenv("WRITE_DOCS") != "" {
		must.Do(t, os.WriteFile(path, want.Bytes(), 0o644))
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the API lists (%v); write it: WRITE_DOCS=1 go test ./adapters/httpapi -run Detectors", path, err)
	}
}

func TestAThirdDetectorIsConfiguredReportedAndShown(t *testing.T) {
	detectortest.Add(t, detectortest.Imaginary)
	api := newTestAPI(t)
	api.unvalidated = true // openapi.yaml does not know the made-up detector
	a := registerWithFields(api, `,"config":{"imaginary_threshold_sec":60,"imaginary_difference":0.5}`).hasStatus(http.StatusCreated)
	id := monitor.ID(a.json()["monitor_id"].(string))
	if got := configField(t, api, id, "imaginary_threshold_sec") + " " + configField(t, api, id, "imaginary_difference"); got != "60 0.5" {
		t.Errorf("the settings are %s", got)
	}
	registerWithFields(api, `,"config":{"imaginary_threshold_sec":1}`).
		hasError(http.StatusBadRequest, monitor.InvalidConfig, "config.imaginary_threshold_sec is 1; accepted is 5 to 600")
	api.put("/internal/v1/monitors/"+string(id)+"/status", `{"generation":1,"status":"monitoring","health":{"video":"imaginary"},"statistics":{"imaginary_events":2},`+
		`"events":[{"event_id":"0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d","event_type":"alert.imaginary","timestamp":"2024-01-15T20:00:00+09:00",`+
		`"data":{"duration_sec":60,"started_at":"2024-01-15T19:59:00+09:00","threshold_sec":60,"segment_info":{"sequence":1,"duration":2}}}]}`).hasStatus(http.StatusOK)
	listed := string(api.get("/api/v1/detectors").hasStatus(http.StatusOK).body)
	for _, want := range []string{
		`{"name":"imaginary","track":"video","condition":"imagined","health":"imaginary","events":{"alert":"alert.imaginary","recovered":"alert.imaginary_recovered"},"optional":false,` +
			`"threshold":{"field":"imaginary_threshold_sec","min":5,"max":600,"default":45,"whole":true,"help":"Seconds."},` +
			`"settings":[{"field":"imaginary_difference","min":0,"max":1,"default":0.25,"whole":false,"help":"Difference."}],"statistic":"imaginary_events",` +
			`"criteria":[{"name":"difference","value":null,"setting":"imaginary_difference"}],"severity":[{"after_sec":0,"severity":0},{"after_sec":60,"severity":1}],` +
			`"words":{"en":{"title":"Imagined video","state":"imagined","lasts":"Imagined for {lasted}.",`,
		`"ja":{"title":"架空の映像",`, `"settings":{"imaginary_difference":"架空とみなす差","imaginary_threshold_sec":"架空のアラートまで（秒）"}`,
		`"criteria":[{"name":"luma_below_percent","value":10,"setting":null}`,
	} {
		expect.Text(t, "the detectors", listed, want)
	}
	body := api.get("/api/v1/monitors/" + string(id)).hasStatus(http.StatusOK).body
	expect.Text(t, "the body", string(body), `"video":"imaginary"`, `"imaginary_events":2`)
	if body := api.get("/api/v1/monitors/" + string(id) + "/events").hasStatus(http.StatusOK).body; !strings.Contains(string(body), "alert.imaginary") {
		t.Errorf("the history is %s", body)
	}
}

// testInfo is the description of the gateway of tests.
func testInfo() *httpapi.ServiceInfo {
	return &httpapi.ServiceInfo{
		Version: "1.2.3", WorkerRuntime: "process", Limits: httpapi.ServiceLimits{MaxMonitors: 3, CreatePerMin: 10, QueryPerMin: 100, ScheduleLeadSec: 600},
		Retention: httpapi.ServiceRetention{EventsSec: 1, HistorySec: 2, FeedSec: 3, EvidenceSec: 4, EvidenceQuarantineSec: 5},
	}
}

func TestTheServiceCountsRefusedKeys(t *testing.T) { // section 17.4
	api := newTestAPI(t)
	for _, path := range []string{"/api/v1/monitors", "/internal/v1/monitors/" + noSuchID, "/api/v1/session"} {
		api.do(newRequestWithoutKey(path)).hasStatus(http.StatusUnauthorized)
	}
	if got := api.get("/api/v1/service").json()["unauthorized"]; got != 3.0 {
		t.Errorf("%v requests are counted, want 3", got)
	}
}
