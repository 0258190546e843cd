package event_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/event"
)

var (
	jst   = time.FixedZone("JST", 9*3600)
	eight = time.Date(2024, 1, 15, 20, 0, 0, 0, jst)
	delay = int64(320)
)

// alert and recovery are the data of every detector's events.
var (
	alert    = event.Alert{DurationSec: 35, StartedAt: eight, ThresholdSec: 30, SegmentInfo: event.SegmentInfo{Sequence: 1520, Duration: 2}}
	recovery = event.Recovered{TotalDurationSec: 45, StartedAt: eight, RecoveredAt: eight.Add(45 * time.Second)}
)

// samples has one event of every type, with every field set.
var samples = withDetectors[event.Data](alert, recovery, map[event.Type]event.Data{
	event.StreamStarted: event.Started{StartedAt: eight, DetectedAt: eight, ScheduledStartTime: &eight, DelaySec: &delay},
	event.StreamEnded:   event.Ended{EndedAt: eight, Reason: event.EndedByEndlist, DurationSec: 3600},
	event.StreamDelayed: event.Delayed{ScheduledStartTime: eight, DelaySec: 320, ToleranceSec: 300},
	event.SegmentError:  event.Outage{StartedAt: eight, DurationSec: 60, ThresholdSec: 60, Failure: event.FailedStalled, LastError: "x"},
	event.MonitorError: event.MonitorFailure{Reason: event.ReasonMismatch, ErrorDetails: "x", Terminal: true,
		ReconciliationAction: "mark_as_error_missing_pod", PreviousStatus: "monitoring",
		ObservedState: &event.ObservedState{PodExists: false, DBStatus: "monitoring"}},
})

// fields are the data fields of sections 4.3 and 10.4 and of decision W7.
var fields = withDetectors("duration_sec segment_info started_at threshold_sec", "recovered_at started_at total_duration_sec", map[event.Type]string{
	event.StreamStarted: "delay_sec detected_at scheduled_start_time started_at",
	event.StreamEnded:   "duration_sec ended_at reason",
	event.StreamDelayed: "delay_sec scheduled_start_time tolerance_sec",
	event.SegmentError:  "duration_sec failure last_error started_at threshold_sec",
	event.MonitorError:  "error_details observed_state previous_status reason reconciliation_action terminal",
})

// withDetectors adds the types of every detector to the types that no detector sends.
func withDetectors[V any](alert, recovered V, others map[event.Type]V) map[event.Type]V {
	for _, d := range detector.Table {
		others[event.Type(d.Alert)], others[event.Type(d.Recovered)] = alert, recovered
	}
	return others
}

func TestEveryTypeHasItsSpecifiedFields(t *testing.T) {
	if got, want := slices.Sorted(slices.Values(event.Types())), slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
		t.Errorf("the types are %q, want %q", got, want)
	}
	for _, typ := range event.Types() {
		e := event.Event{ID: "id", Type: typ, At: eight, Data: samples[typ]}
		if err := e.Valid(); err != nil {
			t.Error(err)
		}
		b, err := json.Marshal(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if names := strings.Join(slices.Sorted(maps.Keys(got)), " "); names != fields[typ] {
			t.Errorf("%s has %s, want %s", typ, names, fields[typ])
		}
		if b, err = json.Marshal(e); err != nil {
			t.Fatal(err)
		}
		var back event.Event
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(b) || reflect.TypeOf(back.Data) != reflect.TypeOf(e.Data) {
			t.Errorf("%s came back as %s, %v", b, again, err)
		}
	}
}

func TestADurationBelow0OrAboveACenturyIsRefused(t *testing.T) {
	for typ, data := range samples {
		for _, seconds := range []int64{-1, 100 * 366 * 24 * 3600} {
			for i, wrong := range withDuration(data, seconds) {
				if (event.Event{Type: typ, At: eight, Data: wrong}).Valid() == nil {
					t.Errorf("%s: its duration %d is %d, accepted", typ, i, seconds)
				}
			}
		}
	}
}

// withDuration returns copies of data, each with another of its durations.
func withDuration(data event.Data, seconds int64) (changed []event.Data) {
	v := reflect.ValueOf(data)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		to := reflect.New(v.Type()).Elem()
		to.Set(v)
		switch field := to.Field(i); {
		case name == "SegmentInfo":
			field.FieldByName("Duration").SetFloat(float64(seconds))
		case !strings.HasSuffix(name, "Sec"):
			continue
		case field.Kind() == reflect.Pointer:
			field.Set(reflect.ValueOf(&seconds))
		default:
			field.SetInt(seconds)
		}
		changed = append(changed, to.Interface().(event.Data))
	}
	return changed
}

func TestAnInvalidEventIsRefused(t *testing.T) {
	for name, e := range map[string]event.Event{
		"an unknown type":       {Type: "stream.exploded", At: eight, Data: event.Ended{}},
		"no data":               {Type: event.StreamEnded, At: eight},
		"another type's data":   {Type: event.StreamEnded, At: eight, Data: event.Started{}},
		"no time":               {Type: event.StreamEnded, Data: event.Ended{}},
		"a recovery's as alert": {Type: event.Blackout, At: eight, Data: event.Recovered{}},
	} {
		if e.Valid() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for _, s := range []string{
		`[]`, `{"event_type":"stream.exploded","data":{}}`, `{"event_type":"stream.ended","data":[]}`,
		`{"event_type":"stream.ended"}`, `{"event_type":"stream.ended","data":{"ended_at":"yesterday"}}`,
	} {
		var e event.Event
		if err := json.Unmarshal([]byte(s), &e); err == nil {
			t.Errorf("%s is read as %+v", s, e)
		}
	}
}

func TestThePayloadIsTheSpecifiedOne(t *testing.T) { // section 4.2
	utc := eight.Add(15*time.Minute + 30*time.Second + 123456789).UTC()
	e := event.Event{ID: "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d", Type: event.Blackout, At: utc, Data: event.Alert{
		DurationSec: 35, StartedAt: utc.Add(-35 * time.Second), ThresholdSec: 30, SegmentInfo: event.SegmentInfo{Sequence: 1520, Duration: 2},
	}}
	got, err := event.NewPayload(e, "mon-1", "https://www.youtube.com/watch?v=XXXXXXXXXXX", json.RawMessage(`{"z":"<&>","a":1.0}`), jst).Encode()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"event_id":"0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d","event_type":"alert.blackout","monitor_id":"mon-1",` +
		`"stream_url":"https://www.youtube.com/watch?v=XXXXXXXXXXX","timestamp":"2024-01-15T20:15:30.123+09:00",` +
		`"data":{"duration_sec":35,"started_at":"2024-01-15T20:14:55.123+09:00","threshold_sec":30,"segment_info":{"sequence":1520,"duration":2}},` +
		`"metadata":{"z":"<&>","a":1.0}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	labelled := event.NewPayload(e, "mon-1", "https://www.youtube.com/watch?v=XXXXXXXXXXX", json.RawMessage(`{"z":"<&>","a":1.0}`), jst)
	labelled.Labels = map[string]string{"team": "a", "show": "朝<1>"}
	got, err = labelled.Encode()
	if withLabels := strings.TrimSuffix(want, "}") + `,"labels":{"show":"朝<1>","team":"a"}}`; err != nil || string(got) != withLabels {
		t.Errorf("got  %s, %v\nwant %s", got, err, withLabels)
	}
	for typ, data := range samples {
		b, err := event.NewPayload(event.Event{Type: typ, At: utc, Data: data}, "m", "u", nil, time.UTC).Encode()
		if err != nil || strings.Contains(string(b), "+09:00") || !strings.Contains(string(b), `"metadata":{}`) {
			t.Errorf("%s in UTC: %s, %v", typ, b, err)
		}
	}
}

func TestSequenceAndEvidenceAreAddedBehindTheUnchangedPayload(t *testing.T) { // sections 4.2, 19.4
	e := event.Event{ID: "id", Type: event.Blackout, At: eight, Data: alert}
	body, err := event.NewPayload(e, "mon-1", "https://www.youtube.com/watch?v=1&t=2", json.RawMessage(`{"a":{}}`), jst).Encode()
	if err != nil {
		t.Fatal(err)
	}
	numbered, err := event.AddSequence(body, 42)
	if err != nil {
		t.Fatal(err)
	}
	with, err := event.AddEvidence(numbered, event.Evidence{
		EvidenceID: "ev", EventID: "id", Links: map[string]string{"onset": "https://example.com/evidence/ev/onset?expires=1&key=2"}, ExpiresAt: eight.Add(15 * time.Minute).UTC(),
	}, jst)
	if err != nil {
		t.Fatal(err)
	}
	const want = `,"sequence":42,"evidence":{"evidence_id":"ev","event_id":"id","links":{"onset":"https://example.com/evidence/ev/onset?expires=1&key=2"},"expires_at":"2024-01-15T20:15:00+09:00"}}`
	if !bytes.Equal(with, append(bytes.TrimSuffix(body, []byte("}")), want...)) || !json.Valid(with) {
		t.Errorf("the payload is %s", with)
	}
	for _, bad := range []string{"", "{}", "[]", `"x"`} {
		if got, err := event.AddEvidence([]byte(bad), event.Evidence{}, jst); err == nil {
			t.Errorf("%q becomes %s", bad, got)
		}
	}
}

func TestAlertsRecoveriesAndBlindnessMayHaveEvidence(t *testing.T) {
	for typ, want := range withDetectors(true, true, map[event.Type]bool{
		event.SegmentError: true, event.StreamStarted: false, event.StreamEnded: false, event.StreamDelayed: false, event.MonitorError: true,
	}) {
		if typ.MayHaveEvidence() != want {
			t.Errorf("%s: %t", typ, !want)
		}
	}
	if alert, is := event.SilenceRecovered.Recovers(); !is || alert != event.Silence {
		t.Errorf("the recovery is of %q", alert)
	}
	if alert, is := event.Silence.Recovers(); is {
		t.Errorf("an alert recovers %q", alert)
	}
}

func TestTheEventTypesOfAThirdDetectorFollowFromItsRow(t *testing.T) {
	if (event.Event{Type: "alert.imaginary", At: eight, Data: samples[event.Blackout]}).Valid() == nil {
		t.Error("alert.imaginary is valid without its detector")
	}
	detectortest.Add(t, detectortest.Imaginary)
	for typ, data := range map[event.Type]event.Data{
		"alert.imaginary":           samples[event.Blackout],
		"alert.imaginary_recovered": samples[event.BlackoutRecovered],
	} {
		e := event.Event{Type: typ, At: eight, Data: data}
		if err := e.Valid(); err != nil || !slices.Contains(event.Types(), typ) {
			t.Errorf("%s: %v", typ, err)
		}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var read event.Event
		if err := json.Unmarshal(raw, &read); err != nil || read.Type != typ || read.Valid() != nil {
			t.Errorf("%s is read as %+v, %v", raw, read, err)
		}
	}
	if (event.Event{Type: "alert.imaginary", At: eight, Data: samples[event.BlackoutRecovered]}).Valid() == nil {
		t.Error("an alert is valid with the data of a recovery")
	}
}
