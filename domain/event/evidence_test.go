package event_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

func TestEvidenceIsAddedBehindTheUnchangedPayload(t *testing.T) { // section 4.2
	e := event.Event{ID: "id", Type: event.Blackout, At: eight, Data: alert}
	body, err := event.NewPayload(e, "mon-1", "https://www.youtube.com/watch?v=1&t=2", json.RawMessage(`{"a":{}}`), jst).Encode()
	if err != nil {
		t.Fatal(err)
	}
	with, err := event.AddEvidence(body, event.Evidence{
		EvidenceID: "ev", EventID: "id", Links: map[string]string{"onset": "https://example.com/evidence/ev/onset?expires=1&key=2"}, ExpiresAt: eight.Add(15 * time.Minute).UTC(),
	}, jst)
	if err != nil {
		t.Fatal(err)
	}
	const want = `,"evidence":{"evidence_id":"ev","event_id":"id","links":{"onset":"https://example.com/evidence/ev/onset?expires=1&key=2"},"expires_at":"2024-01-15T20:15:00+09:00"}}`
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

func TestASequenceComesBeforeTheEvidence(t *testing.T) { // section 19.4
	payload := []byte(`{"event_id":"id","metadata":{"a":1}}`)
	body, err := event.AddSequence(payload, 42)
	if err != nil {
		t.Fatal(err)
	}
	if body, err = event.AddEvidence(body, event.Evidence{EvidenceID: "ev", EventID: "id", ExpiresAt: eight}, jst); err != nil {
		t.Fatal(err)
	}
	const want = `{"event_id":"id","metadata":{"a":1},"sequence":42,"evidence":{"evidence_id":"ev","event_id":"id","links":null,"expires_at":"2024-01-15T20:00:00+09:00"}}`
	if string(body) != want || string(payload) != `{"event_id":"id","metadata":{"a":1}}` {
		t.Errorf("the payload is %s", body)
	}
}
