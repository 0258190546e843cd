package event_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/event"
)

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
